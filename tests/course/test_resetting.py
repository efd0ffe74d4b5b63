"""An exercise back to its stub: its cell alone, and nothing a learner wrote is lost."""

import json
import os
from pathlib import Path

import pytest

import flashlearn
from flashlearn.course import resetting
from flashlearn.course.files import Course, CourseError
from tests.course.synthetic_course import lesson, make_course

MINE = "def row_sum(x):\n    return x.sum()  # größer"


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    course = make_course(tmp_path / "course", {"00_tour": lesson("program_ids", "row_sum")})
    course.fill_work()
    monkeypatch.setenv("FLASHLEARN_COURSE", str(course.root))
    return course


def change(course: Course, edit) -> Path:
    """The learner's copy after `edit` of its cell of row_sum, with an output and a cell of their own."""
    path = course.work / "00_tour.ipynb"
    notebook = json.loads(path.read_text())
    cell = next(cell for cell in notebook["cells"] if cell["id"] == "ex-row_sum")
    edit(notebook, cell)
    path.write_text(json.dumps(notebook))
    return path


def test_the_cell_is_the_stub_again_all_else_stays_and_the_old_text_is_kept(course):
    def edit(notebook, cell):
        cell |= {"source": MINE.splitlines(keepends=True), "execution_count": 3, "outputs": [{"old": 1}]}
        notebook["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "notes"})

    path = change(course, edit)
    before = json.loads(path.read_text())["cells"]
    path.chmod(0o640)
    done = flashlearn.reset("row_sum")
    after = json.loads(path.read_text())["cells"]
    changed = [cell["id"] for cell, old in zip(after, before, strict=True) if cell != old]
    cell = next(cell for cell in after if cell["id"] == "ex-row_sum")
    assert changed == ["ex-row_sum"] and cell["source"] == "def row_sum(x):\n    return x"
    assert cell["outputs"] == [] and cell["execution_count"] is None
    assert done.kept.read_text() == MINE + "\n" and done.kept.parent == course.work / "old"
    assert path.stat().st_mode & 0o777 == 0o640
    assert "Reload Notebook from Disk" in str(done) and f"`{done.kept}`" in done._repr_markdown_()


def test_a_cell_that_is_still_the_stub_is_left_alone(course):
    path = course.work / "00_tour.ipynb"
    before = path.read_bytes()
    done = flashlearn.reset("row_sum")
    assert not done.changed and "nothing to reset" in str(done)
    assert path.read_bytes() == before and not (course.work / "old").exists()


def test_a_cell_that_was_pasted_is_found_by_its_metadata(course):
    path = change(course, lambda _, cell: cell.update(id="f3", source=MINE, metadata={"exercise": "row_sum"}))
    assert flashlearn.reset("row_sum").changed and MINE not in path.read_text()


def test_a_whole_lesson_can_be_reset_from_a_cell_too(course):
    path = change(course, lambda _, cell: cell.update(source=MINE))
    done = flashlearn.reset("00")
    assert MINE.splitlines()[0] in done.kept.read_text()
    assert path.read_bytes() == (course.notebooks / path.name).read_bytes()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda path: path.unlink(), "You have no copy of 00_tour yet"),
        (
            lambda path: path.write_text("{ no notebook"),
            "cannot be read as a notebook: `flashlearn reset 00`",
        ),
        (lambda path: path.write_text("[]"), "cannot be read as a notebook: `flashlearn reset 00`"),
        (lambda path: path.write_text('{"cells": []}'), "has no cell of row_sum any more"),
        (lambda path: path.write_text('{"metadata": {}}'), "cannot be read as a notebook"),
    ],
    ids=["no copy", "damaged", "another JSON", "cell deleted", "no cells"],
)
def test_what_stands_in_the_way_is_a_sentence_and_the_file_stays(course, damage, sentence):
    path = course.work / "00_tour.ipynb"
    damage(path)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(CourseError, match=sentence):
        flashlearn.reset("row_sum")
    assert (path.read_bytes() if path.exists() else None) == before


def test_a_disk_that_refuses_leaves_the_notebook_as_it_was(course, monkeypatch):
    path = change(course, lambda _, cell: cell.update(source=MINE))
    before = path.read_bytes()

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(resetting.os, "replace", refuse)
    with pytest.raises(CourseError, match="could not be reset and is unchanged: no space left on device"):
        flashlearn.reset("row_sum")
    assert path.read_bytes() == before and not [f for f in os.listdir(course.work) if f.endswith(".tmp")]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("row_summ", "did you mean row_sum"),
        ("00_tuor", "did you mean 00_tour"),
        ("", "`flashlearn status` lists them all"),
        (None, "is named in quotes"),
        (len, "is named in quotes"),
    ],
)
def test_a_name_that_does_not_exist_is_answered_with_close_ones(course, name, sentence):
    with pytest.raises(CourseError, match=sentence):
        flashlearn.reset(name)
