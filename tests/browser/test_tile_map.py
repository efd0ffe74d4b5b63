"""The tile map in a notebook that someone else ran, which JupyterLab does not trust."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from flashlearn.exercise import Case, Exercise, HowJudged, Kind
from flashlearn.outcome import Outcome, OutputCheck, Status
from flashlearn.report import Report
from tests.browser.jupyterlab_page import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(420)]

UNDER_THE_MOUSE = """() => [...document.querySelectorAll('.jp-OutputArea .fl-map ~ span[title]')].map(
    span => {
    const box = span.getBoundingClientRect();
    return document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2).title; })"""
OVER_THE_PICTURE = """() => {
    const image = document.querySelector('.jp-OutputArea img.fl-map').getBoundingClientRect();
    const boxes = [...document.querySelectorAll('.jp-OutputArea .fl-map ~ span[title]')].map(
        span => span.getBoundingClientRect());
    return boxes.every(box => box.width > 2 && box.height > 2 && box.left >= image.left
        && box.right <= image.right && box.top >= image.top && box.bottom <= image.bottom); }"""


def report() -> Report:
    """Two heads of 20 × 8, wrong in the second one's last ten rows."""
    expected = torch.zeros(1, 2, 20, 8)
    got = expected.clone()
    got[0, 1, 10:] = 0.5
    check = OutputCheck("o", False, 0.5, 1e-3, got=got, expected=expected.double())
    case = Case("two heads", {"B": 1, "H": 2, "S_q": 20, "D": 8})
    exercise = Exercise(
        "flash_forward",
        "99",
        Kind.KERNEL,
        "A title",
        "(q) -> o",
        ("o",),
        lambda *_: {},
        (),
        HowJudged(lambda: None),
    )
    return Report(exercise, (Outcome(case, Status.WRONG, "o is off.", outputs=(check,)),))


def saved_notebook(shown: Report) -> dict:
    """A notebook with the card as its one output, as it would come by mail: no signature, so not trusted."""
    data = {"text/html": shown._repr_html_(), "text/plain": str(shown)}
    cell = {
        "cell_type": "code",
        "id": "card",
        "execution_count": 1,
        "metadata": {},
        "source": 'flashlearn.check("flash_forward", flash_forward)',
        "outputs": [{"output_type": "display_data", "data": data, "metadata": {}}],
    }
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": [cell]}


def test_the_numbers_under_the_mouse_survive_in_a_notebook_that_is_not_trusted(
    lab: Lab, tmp_path: Path, artefacts: Path
):
    shown = report()
    (tmp_path / "course" / "work" / "saved.ipynb").write_text(json.dumps(saved_notebook(shown)))
    lab.open("saved.ipynb")
    lab.page.locator(".jp-OutputArea summary", has_text="Where the error is").click()
    lab.page.wait_for_selector(".jp-OutputArea img.fl-map")
    trusted = "() => jupyterapp.shell.currentWidget.content.widgets[0].model.trusted"
    assert lab.page.evaluate(trusted) is False
    assert lab.page.evaluate(OVER_THE_PICTURE)
    lab.page.locator(".jp-OutputArea img.fl-map").scroll_into_view_if_needed()
    seen = lab.page.evaluate(UNDER_THE_MOUSE)
    assert len(seen) > 4
    assert all(one.startswith("o[0, 1, ") for one in seen), seen
    assert any("got 0.5, expected 0" in one and "error 0.5, 500 × allowed 0.001" in one for one in seen), seen
    for theme in ("dark", "light"):
        lab.theme(theme)
        lab.page.screenshot(path=artefacts / f"tile-map-not-trusted-{theme}.png")
