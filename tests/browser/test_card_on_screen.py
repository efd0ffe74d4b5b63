"""The card in JupyterLab: on the screen after Shift+Enter, narrow, in both themes, and after a long check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.browser.jupyterlab_page import CELL, Lab
from tests.browser.test_lesson_00 import MASK_FORGOTTEN, RIGHT

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(420)]

TALLEST = 350  # pixels of a card, before anything is unfolded
CASES_WRONG = RIGHT.replace("a * x + y", "a * x - y")
TALL = "\n".join(f"x{i} = {i}" for i in range(60))
CELLS = {
    "above": ("markdown", "A long text. " * 400),
    "imports": ("code", "import torch, triton, triton.language as tl, flashlearn"),
    "exercise": ("code", RIGHT),
    "verdict": ("code", 'flashlearn.check("scaled_add", scaled_add)'),
    "tall": ("code", TALL),
    "below": ("markdown", "A long text. " * 400),
}
AT_ONCE = "import flashlearn.report.progress_line as line\nline.PATIENCE = 0.0"

HEAD = """() => {
    const panel = document.querySelector('.jp-WindowedPanel-outer').getBoundingClientRect();
    const head = document.querySelector('.jp-OutputArea .fl-head').getBoundingClientRect();
    const card = document.querySelector('.jp-OutputArea .flashlearn').getBoundingClientRect();
    return {top: head.top - panel.top, bottom: panel.bottom - head.bottom, card: card.height}; }"""
CUT_OFF = """() => { const card = document.querySelector('.jp-OutputArea .flashlearn');
    card.querySelectorAll('details').forEach(one => one.open = true);
    const edge = card.getBoundingClientRect().right;
    return [...card.querySelectorAll('*')].filter(one => one.getBoundingClientRect().right > edge + 1)
        .map(one => one.className || one.tagName); }"""
CONTRAST = """() => {
    const numbers = colour => { const found = colour.match(/[\\d.]+/g).map(Number);
        return found.slice(0, 3).map(x => colour.startsWith('color(') ? x : x / 255); };
    const linear = x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    const light = rgb => { const [r, g, b] = rgb.map(linear);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const ground = numbers(getComputedStyle(document.querySelector('.jp-Notebook')).backgroundColor);
    const words = ['.fl-sentence', '.fl-quiet', '.fl-footer', '.fl-title', '.fl-dots span', 'td'];
    return [...document.querySelectorAll(words.map(name => '.flashlearn ' + name).join(', '))].map(one => {
        const style = getComputedStyle(one), shine = Number(style.opacity);
        const ink = numbers(style.color).map((x, i) => shine * x + (1 - shine) * ground[i]);
        const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
        return [one.className || one.tagName, (a + 0.05) / (b + 0.05)]; }); }"""

KEEP_WHAT_IS_SHOWN = """() => { window.seen = '';
    const outputs = () => [...document.querySelectorAll('.jp-OutputArea-output')];
    new MutationObserver(() => { window.seen += outputs().map(one => one.innerText).join(' '); }).observe(
        document.body, {childList: true, subtree: true, characterData: true}); }"""


@pytest.fixture
def notebook(lab: Lab, tmp_path: Path) -> Lab:
    """A short lesson, open in a window of 800 × 700 pixels."""
    cells = [
        {"cell_type": kind, "id": name, "metadata": {}, "source": source}
        | ({"execution_count": None, "outputs": []} if kind == "code" else {})
        for name, (kind, source) in CELLS.items()
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    saved = {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}
    (tmp_path / "course" / "work" / "card.ipynb").write_text(json.dumps(saved))
    lab.page.set_viewport_size({"width": 800, "height": 700})
    lab.open("card.ipynb")
    lab.page.evaluate("() => jupyterapp.commands.execute('application:toggle-left-area')")
    lab.run("imports")
    return lab


def shift_enter(lab: Lab, cell: str) -> None:
    """Press the keys in a cell, and wait until it has run."""
    before = lab.page.evaluate(f"cell => {CELL}.model.executionCount", cell)
    lab.page.keyboard.press("Shift+Enter")
    lab.page.wait_for_function(
        f"([cell, before]) => ![null, before].includes({CELL}.model.executionCount)", arg=[cell, before]
    )


def attempt(lab: Lab, answer: str) -> dict[str, float]:
    """Write the answer, Shift+Enter, Shift+Enter; where the card's head is then, and how tall the card."""
    lab.type_into("exercise", answer)
    shift_enter(lab, "exercise")  # Jupyter drops queued cells after one that raises
    lab.page.wait_for_function(
        "() => jupyterapp.shell.currentWidget.content.activeCell.model.id === 'verdict'"
    )
    shift_enter(lab, "verdict")
    lab.wait_for_idle()
    lab.page.wait_for_selector(".jp-OutputArea .fl-head")
    lab.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return lab.page.evaluate(HEAD)


def test_after_each_of_ten_attempts_the_verdict_is_on_the_screen(notebook: Lab, artefacts: Path):
    lab = notebook
    for number in range(10):
        seen = attempt(lab, (MASK_FORGOTTEN, CASES_WRONG, RIGHT)[number % 3])
        assert seen["top"] >= 0 and seen["bottom"] >= 0, f"attempt {number + 1}: {seen}"
        assert seen["card"] <= TALLEST, f"attempt {number + 1}: {seen}"
        assert len(lab.outputs("verdict")) == 1
    lab.page.screenshot(path=artefacts / "tenth-attempt-800.png")

    lab.type_into("imports", AT_ONCE)
    lab.run("imports")
    lab.page.evaluate(KEEP_WHAT_IS_SHOWN)
    attempt(lab, CASES_WRONG)
    assert "To stop: the ■ button" in lab.page.evaluate("() => window.seen")
    (output,) = lab.outputs("verdict")
    assert "flashlearn fl-tone-fail" in "".join(output["data"]["text/html"]), "the card took the line's place"

    attempt(lab, RIGHT.replace("a * x + y", "a * x + y)"))
    (output,) = lab.outputs("verdict")
    card = "".join(output["data"]["text/html"])
    assert "The last run of your cell did not define" in card and "SyntaxError in line" in card
    lab.page.screenshot(path=artefacts / "older-version-800.png")

    for answer in (RIGHT, CASES_WRONG):
        attempt(lab, answer)
        lab.show("verdict").get_by_text("sm_90").first.wait_for(state="attached")
        assert lab.page.evaluate(CUT_OFF) == [], "every column is inside the card at 800 pixels"
        for theme in ("dark", "light"):
            lab.theme(theme)
            faint = [found for found in lab.page.evaluate(CONTRAST) if found[1] < 4.5]
            assert faint == [], theme
            lab.page.screenshot(path=artefacts / f"card-800-{theme}.png")
