"""Putting a learner's functions together: theirs if they pass, the course's otherwise, and it says which."""

import shutil
from pathlib import Path

import nbformat
import pytest

from flashlearn.course import answers
from flashlearn.course.assembling import assemble
from flashlearn.course.progress import Progress
from flashlearn.kernels import softmax as kernels
from flashlearn.outcome import Status

ROOT = Path(__file__).parents[2]
NAME = "softmax_forward"


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with the solved notebook of lesson 02 in work/; nothing has passed in this session."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    (tmp_path / "flashlearn").mkdir()
    (tmp_path / "work").mkdir()
    shutil.copy(ROOT / "solutions" / "02_softmax.ipynb", tmp_path / "work" / "02_softmax.ipynb")
    monkeypatch.setenv("FLASHLEARN_COURSE", str(tmp_path))
    monkeypatch.setattr(answers, "passed", {})
    return tmp_path


def passed():
    Progress().attempt(NAME, Status.PASS, 1.0)


def change(course, old, new):
    """The learner edits the exercise's cell."""
    path = course / "work" / "02_softmax.ipynb"
    notebook = nbformat.read(path, 4)
    cell = next(cell for cell in notebook.cells if cell.get("id") == f"ex-{NAME}")
    assert old in cell.source
    cell.source = cell.source.replace(old, new)
    nbformat.write(notebook, path)


def test_what_has_not_passed_is_the_course_s(course):
    parts = assemble(NAME)
    assert parts[NAME] is kernels.softmax_forward
    assert not parts.parts[NAME].yours
    assert "you have not passed softmax_forward yet" in repr(parts)


def test_what_has_passed_is_fetched_from_the_learner_s_notebook_and_checked_again(course):
    passed()
    parts = assemble(NAME)
    assert parts.parts[NAME].yours
    assert parts[NAME] is not kernels.softmax_forward
    assert "yours, from work/02_softmax.ipynb" in repr(parts) and "cases passed just now" in repr(parts)


def test_a_cell_that_no_longer_passes_is_not_used(course):
    passed()
    change(course, "e / l_i", "e * l_i")
    parts = assemble(NAME)
    assert parts[NAME] is kernels.softmax_forward
    assert "no longer passes" in repr(parts) and "wrong" in repr(parts)


def test_a_cell_that_does_not_run_is_not_used(course):
    passed()
    change(course, "def softmax_forward(", "def softmax_forward(:(")
    parts = assemble(NAME)
    assert parts[NAME] is kernels.softmax_forward
    assert "could not be loaded" in repr(parts)


def test_a_notebook_that_is_gone_is_said_to_be(course):
    passed()
    (course / "work" / "02_softmax.ipynb").unlink()
    assert "there is no 02_softmax.ipynb in work/" in repr(assemble(NAME))


def test_a_function_that_passed_in_this_session_comes_first(course):
    passed()

    def mine(s):
        return kernels.softmax_forward(s)

    answers.passed[NAME] = mine
    parts = assemble(NAME)
    assert parts[NAME] is mine and parts.parts[NAME].yours


def test_parts_are_a_mapping_in_the_order_that_was_asked_for(course):
    parts = assemble("softmax_backward", NAME)
    assert list(parts) == ["softmax_backward", NAME] and len(parts) == 2
