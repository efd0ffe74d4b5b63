"""From the page that JupyterLab opens first, through links, to a lesson, a solution, and back to the stub."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flashlearn.cli.lab import SETTINGS
from flashlearn.course.files import Course
from flashlearn.course.overview import survey
from flashlearn.course.pages import start_page
from flashlearn.course.progress import Progress
from flashlearn.course.resetting import reset_exercise
from flashlearn.lessons import all_exercises
from flashlearn.outcome import Status
from tests.browser.jupyterlab_page import PATIENCE, Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(420)]

OPEN = "path => window.jupyterapp?.shell.currentWidget?.context?.path === path"
AT_CELL = "id => jupyterapp.shell.currentWidget?.content?.activeCell?.model.id === id"
SOURCE_HAS = """text => [...jupyterapp.shell.currentWidget.content.widgets].some(
    cell => cell.model.id === 'ex-program_ids' && cell.model.sharedModel.source.includes(text))"""
OVERFLOWS = "page => page.scrollWidth > page.clientWidth"
CELLS = {
    "status": "import flashlearn\nflashlearn.status()",
    "early": 'flashlearn.solution("scaled_add")',
    "solution": 'flashlearn.solution("softmax_vjp")',
    "misspelt": 'flashlearn.hint("dq_kernl")',
}


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """The course that `lab` serves, with the settings that `flashlearn lab` starts JupyterLab with."""
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(SETTINGS))
    return Course(tmp_path / "course")


def notebook_of(cells: dict[str, str]) -> str:
    code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    made = [{**code, "id": name, "source": source} for name, source in cells.items()]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": made})


def pictures(lab: Lab, selector: str, folder: Path, name: str) -> None:
    """The page in both themes, at two widths; nothing of it is cut off."""
    for width in (800, 1280):
        lab.page.set_viewport_size({"width": width, "height": 1100})
        for theme in ("dark", "light"):
            lab.theme(theme)
            lab.page.screenshot(path=folder / f"{name}-{width}-{theme}.png")
        assert not lab.page.locator(selector).evaluate(OVERFLOWS)


def test_the_first_page_leads_to_the_first_lesson_and_its_first_line_to_the_next(
    course: Course, lab: Lab, artefacts: Path
):
    page = lab.page
    page.set_default_timeout(PATIENCE)
    start_page.write(survey(course, Progress()))
    page.goto(lab.address.replace("/lab?", f"/lab/tree/{start_page.NAME}?"))
    page.wait_for_selector(".jp-MarkdownViewer .flashlearn-status")
    page.wait_for_function("() => window.jupyterapp")
    pictures(lab, ".flashlearn-status", artefacts, "start")
    page.locator("summary", has_text="The clinic").click()
    assert page.get_by_role("link", name="clinic_10").is_visible()

    page.locator(".fl-next").get_by_role("link").click()
    page.wait_for_function(OPEN, arg="00_tour.ipynb")
    page.locator(".jp-NotebookPanel a", has_text="01 Gradients of matrix expressions →").first.click()
    page.wait_for_function(OPEN, arg="01_gradients.ipynb")


def test_a_status_page_a_solution_and_a_reset_beneath_an_open_notebook(
    course: Course, lab: Lab, artefacts: Path
):
    page, progress = lab.page, Progress()
    progress.attempt("softmax_vjp", Status.WRONG, 0.1)
    passed = ["program_ids", *(name for name, one in all_exercises().items() if one.lesson == "07")]
    for name in passed:
        progress.attempt(name, Status.PASS, 0.1)
    tour = course.work / "00_tour.ipynb"
    tour.write_text(tour.read_text().replace("ids_ptr: address of ids[0]", "my own words"))
    (course.work / "mine.ipynb").write_text(notebook_of(CELLS))

    lab.open("mine.ipynb")
    for cell in ("status", "early", "solution", "misspelt"):
        lab.run(cell)
    shown = lab.show("status").locator(".flashlearn-status")
    assert (
        f"{len(passed)} of {len(all_exercises())}" in shown.inner_text()
        and "Lesson 07 is complete" in shown.inner_text()
    )
    pictures(lab, ".flashlearn-status", artefacts, "status")
    assert "Not yet." in lab.show("early").inner_text()
    solution = lab.show("solution")
    assert "p.multiply_elementwise(dp" in solution.inner_text() and solution.locator("mjx-container").count()
    pictures(lab, ".jp-Cell.jp-mod-active .jp-RenderedMarkdown", artefacts, "solution")
    assert progress.solutions() == {"softmax_vjp"}
    (error,) = lab.outputs("misspelt")
    assert len(error["traceback"]) == 1 and "did you mean dq_kernel" in error["traceback"][0]

    lab.show("status").get_by_role("link", name="row_sum").first.click()
    page.wait_for_function(OPEN, arg="00_tour.ipynb")
    page.wait_for_function(AT_CELL, arg="ex-row_sum")
    page.wait_for_function(SOURCE_HAS, arg="my own words")

    assert reset_exercise(course, course.lessons()[0], "program_ids").changed
    page.get_by_role("menuitem", name="File", exact=True).click()
    page.get_by_role("menuitem", name="Reload Notebook from Disk", exact=True).click()
    stub = "ids_ptr: address of ids[0]"  # JupyterLab asks first only if the page has unsaved changes
    page.wait_for_function(f"text => document.querySelector('.jp-Dialog') || ({SOURCE_HAS})(text)", arg=stub)
    if page.locator(".jp-Dialog").count():
        page.get_by_role("dialog").get_by_role("button", name="Reload").click()
    page.wait_for_function(SOURCE_HAS, arg=stub)
