"""A copy of a lesson made for an earlier version: a failing import is answered with one sentence."""

from __future__ import annotations

import importlib
from pathlib import Path

import nbformat
import pytest

from flashlearn import outdated_lesson
from flashlearn.cli.headless import run_notebook

CELLS = (
    "from flashlearn import DEVICE, environment",  # what lessons imported before modules moved
    "from flashlearn.pictures import tour as pictures",
    "from flashlearn.kernels import probes",
    "import flashlearn.portable.listing",
)
MISSING = (
    "flashlearn.environment",
    "flashlearn.pictures",
    "flashlearn.kernels.probes",
    "flashlearn.portable",
)


@pytest.fixture(scope="module")
def cells(tmp_path_factory) -> list:
    """The cells of an old lesson 00 after they ran in a Jupyter kernel."""
    path = tmp_path_factory.mktemp("work") / "00_tour.ipynb"
    ran = [*CELLS, "import flashlearn; flashlearn.check, 'it goes on'", "import pictures_of_mine"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in ran])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JPY_SESSION_NAME", str(path))
        run = run_notebook(path, notebook, timeout=120, record=False)
    assert run.complete, run.problems
    return notebook.cells


@pytest.mark.parametrize("index", range(len(CELLS)), ids=MISSING)
def test_in_jupyter_the_answer_is_one_sentence_with_the_command_and_no_traceback(index, cells):
    (output,) = cells[index].outputs
    sentence = outdated_lesson.SENTENCE.format(module=MISSING[index], number="00")
    assert output.traceback == [sentence] and output.evalue == sentence
    assert "`flashlearn reset 00`" in sentence and "work/old/" in sentence


def test_what_exists_is_imported_and_other_packages_fail_as_ever(cells):
    assert "it goes on" in cells[-2].outputs[0].data["text/plain"]
    assert cells[-1].outputs[0].evalue == "No module named 'pictures_of_mine'"


@pytest.mark.parametrize("name", ["flashlearn.nothing", "flashlearn.kernels.nothing"])
def test_outside_a_notebook_a_missing_module_is_missing_as_ever(name):
    with pytest.raises(ModuleNotFoundError, match=f"^No module named '{name}'$"):
        importlib.import_module(name)


def test_the_lesson_s_number_is_in_the_sentence_if_it_is_known(monkeypatch):
    import sys

    frame = sys._getframe()
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert outdated_lesson._lesson_number(frame) == "NN"
    monkeypatch.setenv("JPY_SESSION_NAME", str(Path("/home/me/work/07_dq.ipynb")))
    assert outdated_lesson._lesson_number(frame) == "07"
