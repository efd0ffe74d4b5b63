"""A lesson as a learner works in it: what is on the screen after a check or a link, what can be pressed."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from flashlearn.cli.lab import SETTINGS
from flashlearn.course.files import Course
from flashlearn.course.overview import survey
from flashlearn.course.pages import start_page
from flashlearn.course.progress import Progress
from tests.browser.jupyterlab_page import CELL, PATIENCE, Lab
from tests.browser.test_lesson_00 import MASK_FORGOTTEN, RIGHT
from tests.corpus.answer_files import text_of

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(560)]

WRONG = (
    "wrong_1_sqrtd_stands_where_alpha_belongs",
    "wrong_3_d_grid_batch_and_head_exchanged",
    "wrong_a_normalised_o_without_its_old_l",
    "wrong_accumulator_in_the_inputs_dtype_block_pointers",
    "wrong_alpha_folded_into_half_q",
    "wrong_alpha_in_half",
    "wrong_alpha_in_the_second_pass_only",
    "wrong_batch_head_come_out_program_id_wrong_way_round",
    "wrong_batch_of_its_own_quotient",
    "wrong_block_d_128_whatever_d_components_beyond_neither",
)
"""Ten answers to flash_forward, each longer than a screen, whose cards are of different heights."""

SIZES = ((1366, 768, WRONG), (1440, 900, WRONG[:3]), (800, 700, WRONG[:3]))

PLACE = """([cell, part, path]) => {
    const panel = path ? [...jupyterapp.shell.widgets('main')].find(one => one.context?.path === path)
        : jupyterapp.shell.currentWidget;
    const one = panel?.content.widgets?.find(w => w.model.id === cell);
    if (!one?.node.isConnected || !one.node.querySelector(part)) return null;
    const page = panel.node.querySelector('.jp-WindowedPanel-outer').getBoundingClientRect();
    const box = one.node.querySelector(part).getBoundingClientRect();
    return {top: box.top - page.top, bottom: page.bottom - box.bottom, height: box.height}; }"""
REACHED = f"""asked => {{ const place = ({PLACE})(asked);
    const here = place?.height && place.top <= 600 && place.top >= -Math.max(150, place.height / 2);
    return (window.frames_here = here ? (window.frames_here || 0) + 1 : 0) >= 20; }}"""
"""The cell's head is on the page, or the larger part of a cell that is taller than the page, and stays there.

It need not be the active one: JupyterLab activates no cell that is on the screen already.
"""
FRAMES = """() => new Promise(done => {
    const wait = left => left ? requestAnimationFrame(() => wait(left - 1)) : done(); wait(6); })"""
RUN = """async cell => { const notebook = jupyterapp.shell.currentWidget.content;
    notebook.activeCellIndex = notebook.widgets.findIndex(one => one.model.id === cell);
    await jupyterapp.commands.execute('notebook:run-cell'); }"""
ACTIVE = "id => jupyterapp.shell.currentWidget?.content?.activeCell?.model.id === id"
OPEN = "path => window.jupyterapp?.shell.currentWidget?.context?.path === path"
RESTORED = """async count => window.jupyterapp && (await jupyterapp.restored, true)
    && [...jupyterapp.shell.widgets('main')].length >= count
    && jupyterapp.shell.currentWidget.context?.isReady"""
UNFOLD = "() => document.querySelectorAll('.jp-MarkdownViewer details').forEach(one => one.open = true)"
SHOW = """path => { const every = [...jupyterapp.shell.widgets('main')];
    jupyterapp.shell.activateById(every.find(one => one.context?.path === path).id); }"""
CUT_OFF = """() => [...document.querySelectorAll('.jp-OutputArea .flashlearn')].flatMap(card => {
    card.querySelectorAll('details').forEach(one => one.open = true);
    const edge = card.getBoundingClientRect().right, scrolls = one => one.closest('.fl-scroll, .fl-code');
    return [...card.querySelectorAll('*')].filter(one => one.getBoundingClientRect().right > edge + 1
        && !scrolls(one)).map(one => one.className || one.tagName); })"""

CELLS = {
    "imports": "import torch, triton, triton.language as tl, flashlearn",
    "ex-scaled_add": MASK_FORGOTTEN,
    "verdict": 'flashlearn.check("scaled_add", scaled_add)',
    "end": "1 + 1",
}


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """The course that `lab` serves, with the settings that `flashlearn lab` starts JupyterLab with."""
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(SETTINGS))
    return Course(tmp_path / "course")


def write(course: Course, name: str) -> None:
    """A short notebook of the learner's own, beside the lessons."""
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    cells = [{**code, "id": cell, "source": source} for cell, source in CELLS.items()]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    saved = {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}
    (course.work / name).write_text(json.dumps(saved))


def shift_enter(lab: Lab, cell: str) -> None:
    before = lab.page.evaluate(f"cell => {CELL}.model.executionCount", cell)
    lab.page.keyboard.press("Shift+Enter")
    lab.page.wait_for_function(
        f"([cell, before]) => ![null, before].includes({CELL}.model.executionCount)", arg=[cell, before]
    )


def attempt(lab: Lab, exercise: str, answer: str) -> dict[str, float]:
    """Write the answer, Shift+Enter, Shift+Enter: where the head of its card is then."""
    cells = lab.cell_ids("code")
    verdict = cells[cells.index(exercise) + 1]
    lab.type_into(exercise, answer)
    shift_enter(lab, exercise)
    lab.page.wait_for_function(ACTIVE, arg=verdict)
    shift_enter(lab, verdict)
    lab.wait_for_idle()
    lab.page.wait_for_function(PLACE, arg=[verdict, ".fl-head"])
    lab.page.evaluate(FRAMES)
    return lab.page.evaluate(PLACE, [verdict, ".fl-head"])


def forward(name: str) -> str:
    """An answer of the corpus, under the name that the check asks for."""
    text = text_of(f"flash_forward/{name}")
    launcher = re.findall(r"^def (\w+)", text, flags=re.MULTILINE)[-1]
    return text if launcher == "flash_forward" else f"{text}\n\nflash_forward = {launcher}\n"


def start(lab: Lab, notebook: str, exercise: str) -> None:
    """Open a lesson, run its imports, go to the exercise."""
    lab.open(notebook)
    for cell in lab.cell_ids("code")[:2]:
        lab.page.evaluate(RUN, cell)
    lab.wait_for_idle()
    for _ in range(2):  # above it cells get their height when they are drawn
        lab.show(exercise)
        lab.page.locator(".jp-Cell.jp-mod-active .cm-content").wait_for()


@pytest.mark.parametrize("drawn", ["jupyterlab", "course"])
def test_the_verdict_of_a_long_cell_is_on_the_screen_after_ten_wrong_answers(
    drawn: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    if drawn == "course":  # its settings draw notebooks in another mode than JupyterLab's own
        monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(SETTINGS))
    lab: Lab = request.getfixturevalue("lab")
    lab.page.set_viewport_size({"width": 1366, "height": 768})
    start(lab, "06_flash_forward.ipynb", "ex-flash_forward")
    for width, height, answers in SIZES if drawn == "jupyterlab" else SIZES[:1]:
        lab.page.set_viewport_size({"width": width, "height": height})
        for number, name in enumerate(answers if drawn == "jupyterlab" else answers[:4], 1):
            seen = attempt(lab, "ex-flash_forward", forward(name))
            assert seen["top"] >= 0 and seen["bottom"] >= 0, f"{width} × {height}, answer {number}: {seen}"


def test_a_link_reaches_its_exercise_at_the_first_click_also_with_many_notebooks_open(
    course: Course, lab: Lab
):
    page = lab.page
    page.set_default_timeout(PATIENCE)
    page.set_viewport_size({"width": 1366, "height": 768})
    start_page.write(survey(course, Progress()))
    page.goto(lab.address.replace("/lab?", f"/lab/tree/{start_page.NAME}?"))
    page.wait_for_selector(".jp-MarkdownViewer .flashlearn-status")
    page.wait_for_function("() => window.jupyterapp")
    links = {
        "flash_forward_causal": "06_flash_forward.ipynb",
        "softmax_vjp": "02_softmax.ipynb",
        "clinic_7": "10_clinic.ipynb",
        "dq_kernel_causal": "07_dq.ipynb",
        "matmul_vjp": "01_gradients.ipynb",
        "row_sum": "00_tour.ipynb",
        "delta_identity": "03_attention_backward.ipynb",
        "lse_identity": "04_logsumexp.ipynb",  # not open yet
        "softmax_backward": "02_softmax.ipynb",  # open
    }
    for number, (name, path) in enumerate(links.items()):
        restored = number == len(links) - 2  # with seven notebooks open, and all of them drawn anew
        if restored:
            page.wait_for_timeout(1500)  # JupyterLab saves what is open a second later
            page.goto(lab.address)  # not the first page's own address, which opens it once more, at any time
            page.wait_for_function(RESTORED, arg=len(links) - 1)
            page.evaluate(SHOW, start_page.NAME)
            page.wait_for_selector(".jp-MarkdownViewer .flashlearn-status")
        page.evaluate(UNFOLD)
        # JupyterLab may lose the first move in a notebook that it restores and that has not been shown yet
        assert follow(page, name, path) or (restored and follow(page, name, path)), name
        page.evaluate(SHOW, start_page.NAME)


def follow(page: Any, name: str, path: str) -> bool:
    """Click the link to an exercise on the first page: is the exercise on the screen then?"""
    from playwright.sync_api import TimeoutError as Expired

    page.evaluate(SHOW, start_page.NAME)
    page.get_by_role("link", name=name, exact=True).first.click()
    page.wait_for_function(OPEN, arg=path)
    page.evaluate("window.frames_here = 0")
    with suppress(Expired):
        page.wait_for_function(REACHED, arg=[f"ex-{name}", ".jp-InputArea", path], timeout=PATIENCE / 4)
        return True
    return False


def test_a_card_has_a_button_for_the_hint_a_link_to_what_is_next_and_says_what_has_not_run(
    course: Course, lab: Lab, artefacts: Path
):
    write(course, "00_mine.ipynb")
    lab.page.set_viewport_size({"width": 1366, "height": 768})
    lab.open("00_mine.ipynb")
    for cell in ("imports", "ex-scaled_add", "verdict"):
        lab.run(cell)
    unrun = lab.page.locator(".fl-unrun").first
    assert not unrun.is_visible()
    for press in ("click", "key"):
        before = len(lab.cell_ids())
        button = lab.page.locator(".flashlearn .fl-press")
        if press == "click":
            button.click()
        else:
            button.focus()
            lab.page.keyboard.press("Enter")
        lab.page.wait_for_function(
            "n => jupyterapp.shell.currentWidget.content.widgets.length === n", arg=before + 1
        )
        below = lab.cell_ids()[3]
        lab.page.wait_for_function(f"cell => {CELL}.model.sharedModel.outputs.length", arg=below)
        assert lab.source(below) == 'flashlearn.hint("scaled_add")'
    assert "Hint 2 of 3" in lab.outputs(lab.cell_ids()[3])[0]["data"]["text/plain"]

    lab.type_into("ex-scaled_add", RIGHT)
    lab.show("verdict")
    assert unrun.is_visible() and "has been edited since it ran" in unrun.inner_text()
    lab.page.screenshot(path=artefacts / "edited-not-run.png")
    lab.run("ex-scaled_add")
    assert not unrun.is_visible()
    lab.run("verdict")
    link = lab.show("verdict").locator(".fl-next a")
    assert link.inner_text() == "matmul_jacobian"
    link.click()
    lab.page.wait_for_function(OPEN, arg="01_gradients.ipynb")
    lab.page.wait_for_function(REACHED, arg=["ex-matmul_jacobian", ".jp-InputArea", "01_gradients.ipynb"])


def test_cards_side_by_side_and_at_150_percent_are_whole_and_a_keyboard_is_enough(
    course: Course, lab: Lab, artefacts: Path
):
    for name in ("00_left.ipynb", "00_right.ipynb"):
        write(course, name)
    lab.page.set_viewport_size({"width": 1366, "height": 768})
    lab.open("00_left.ipynb")
    for cell in ("imports", "ex-scaled_add", "verdict"):
        lab.run(cell)
    lab.page.evaluate(
        "() => jupyterapp.commands.execute('docmanager:open', "
        "{path: '00_right.ipynb', options: {mode: 'split-right'}})"
    )
    lab.page.wait_for_function(OPEN, arg="00_right.ipynb")
    lab.page.wait_for_function(
        "() => jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"
    )
    # the keyboard alone, from the first cell on
    lab.page.evaluate(
        "() => { const one = jupyterapp.shell.currentWidget.content; one.activeCellIndex = 0;"
        " one.mode = 'command'; one.activate(); }"
    )
    for cell in ("imports", "ex-scaled_add", "verdict"):
        shift_enter(lab, cell)
        lab.wait_for_idle()
    lab.page.keyboard.press("ArrowUp")  # back to the card's cell, and from there to what it offers
    reached: list[str] = []
    for _ in range(14):
        lab.page.keyboard.press("Tab")
        reached.append(
            lab.page.evaluate("() => document.activeElement.className + document.activeElement.tagName")
        )
    assert any("fl-press" in one for one in reached) and "SUMMARY" in reached, reached
    lab.page.evaluate("() => document.activeElement.closest('.flashlearn')?.querySelector('summary').focus()")
    for theme in ("dark", "light"):
        lab.theme(theme)
        lab.page.screenshot(path=artefacts / f"side-by-side-{theme}.png")
    assert lab.page.evaluate(CUT_OFF) == []

    lab.page.set_viewport_size({"width": 1366 * 2 // 3, "height": 768 * 2 // 3})  # as 150 % of 1366 × 768
    lab.page.evaluate(FRAMES)
    assert lab.page.evaluate(CUT_OFF) == []
    lab.page.screenshot(path=artefacts / "zoom-150.png")

    card = lab.page.locator(".flashlearn").last
    seen = card.aria_snapshot()
    for said in ("Out of bounds", 'button "Show', "Cases", "Evidence", "cases pass"):
        assert said in seen, seen
