"""A slider and questions in JupyterLab: a picture in an untrusted notebook, interactive once you run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flashlearn.lessons.lesson_00_tour.pictures import sliding_programs
from tests.browser.jupyterlab_page import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(420)]

CELLS = {
    "slider": "from flashlearn.lessons.lesson_00_tour.pictures import sliding_programs\nsliding_programs()",
    "recall": 'import flashlearn\nflashlearn.recall("01", {1: "a", 2: "c", 3: ""})',
}
ACTIVE = "() => jupyterapp.shell.currentWidget.content.activeCell.model.id"


def untrusted_notebook() -> str:
    """A notebook's text: the slider's cell has its output, which this JupyterLab has no reason to trust."""
    data = sliding_programs()._repr_mimebundle_()[0]
    output = {"output_type": "execute_result", "execution_count": 77, "metadata": {}, "data": data}
    cells = [
        {
            "cell_type": "code",
            "id": name,
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": 77,
        }
        for name, source in CELLS.items()
    ]
    cells[0]["outputs"] = [output]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells})


def test_a_slider_stands_still_until_its_cell_is_run_and_keeps_the_arrow_keys_then(
    lab: Lab, tmp_path: Path, artefacts: Path
):
    (tmp_path / "course" / "work" / "mine.ipynb").write_text(untrusted_notebook(), encoding="utf-8")
    lab.open("mine.ipynb")
    card = lab.show("slider").locator(".flashlearn-slider, .jp-OutputArea-output img").first
    card.wait_for()
    assert lab.show("slider").locator("input[type=range]").count() == 0
    assert "Shown for n = 10, block = 4." in lab.show("slider").inner_text()
    assert lab.show("slider").locator("img").bounding_box()["height"] > 100

    lab.run("slider")
    lab.run("recall")
    place = lab.show("slider")
    sliders = place.locator("input[type=range]")
    assert sliders.count() == 2 and "Shown for" not in place.inner_text()
    sliders.last.focus()
    lab.page.keyboard.press("ArrowRight")
    lab.page.keyboard.press("ArrowDown")
    lab.page.keyboard.press("ArrowDown")
    assert lab.page.evaluate(ACTIVE) == "slider", "the arrow keys moved the notebook"
    assert place.locator("img").get_attribute("alt").startswith("10 elements in blocks of 2: 5 program")

    asked = lab.show("recall").locator(".flashlearn-recall")
    assert "1 of 3 right; choose again for the others; 1 not answered yet." in asked.inner_text()
    for theme in ("dark", "light"):
        lab.theme(theme)
        lab.page.screenshot(path=artefacts / f"slider-{theme}.png")
