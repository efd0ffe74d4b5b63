"""The cell of an exercise is found in a notebook that another editor saved."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

import flashlearn
from flashlearn.classroom import single_notebook
from flashlearn.classroom.collecting import structure
from flashlearn.classroom.handout import Notebook, NotebookCell, read_cells
from flashlearn.classroom.records import AssignedExercise, Assignment
from flashlearn.course import authoring
from flashlearn.course.files import Course
from flashlearn.course.marked_cells import answering, defines, mark
from tests.course.rewritten import EDITORS
from tests.course.synthetic_course import lesson, make_course

ROOT = Path(__file__).parents[2]
GIVEN = ROOT / "notebooks" / "00_tour.ipynb"
NAMES = ("program_ids", "scaled_add", "row_sum")


@pytest.fixture(params=EDITORS)
def saved(request) -> dict:
    """Lesson 00 as an editor saves it."""
    return EDITORS[request.param](json.loads(GIVEN.read_text()))


def test_each_exercise_has_the_cell_that_it_had(saved):
    before = answering(json.loads(GIVEN.read_text())["cells"], NAMES)
    assert set(before) == set(NAMES) and answering(saved["cells"], NAMES) == before


def test_the_function_of_a_cell_can_be_loaded(saved, tmp_path):
    path = tmp_path / "00_tour.ipynb"
    path.write_text(json.dumps(saved))
    function = authoring.load_exercise(path, "scaled_add")
    assert inspect.getsource(function).startswith("def scaled_add(")


def test_the_sandbox_grades_the_same_cells(saved, tmp_path):
    path = tmp_path / "00_tour.ipynb"
    path.write_text(json.dumps(saved))
    asked = single_notebook.asked(single_notebook.cells(path))
    assert asked == single_notebook.asked(single_notebook.cells(GIVEN)) and set(asked) == set(NAMES)


def test_a_class_s_handout_recognizes_the_answer(saved):
    given = Notebook(
        "00_tour.ipynb", "00", tuple(NotebookCell(*c) for c in read_cells(GIVEN.read_bytes()).code)
    )
    assignment = Assignment("Week 1", (AssignedExercise("row_sum", "00", 1),), "")
    at = answering(saved["cells"], NAMES)["row_sum"]
    saved["cells"][at]["source"] = ["def row_sum(x):\n", "    return x.sum(dim=1)"]
    found = structure.examine("Ann", "00_tour.ipynb", json.dumps(saved).encode(), given, assignment)
    (answer,) = [cell.text for cell in found.cells if cell.exercise == "row_sum"]
    assert answer == "def row_sum(x):\n    return x.sum(dim=1)"
    assert not any("imports" in note for note in found.notes), found.notes


@pytest.mark.parametrize("editor", EDITORS)
def test_reset_puts_the_stub_back_there(editor, tmp_path, monkeypatch):
    course = make_course(tmp_path / "course", {"00_tour": lesson("program_ids", "row_sum")})
    course.fill_work()
    monkeypatch.setenv("FLASHLEARN_COURSE", str(course.root))
    path = Course.here().work / "00_tour.ipynb"
    notebook = EDITORS[editor](json.loads(path.read_text()))
    at = answering(notebook["cells"], ["row_sum"])["row_sum"]
    notebook["cells"][at]["source"] = ["def row_sum(x):\n", "    return mine"]
    path.write_text(json.dumps(notebook))
    assert flashlearn.reset("row_sum").changed
    after = json.loads(path.read_text())["cells"]
    assert "".join(after[at]["source"]) == "def row_sum(x):\n    return x"
    assert after[:at] == notebook["cells"][:at] and after[at + 1 :] == notebook["cells"][at + 1 :]


def test_the_last_definition_counts_and_a_cell_of_another_exercise_never():
    def code(source: str, **more) -> dict:
        return {"cell_type": "code", "source": source, "metadata": {}, **more}

    two = [code("def f(x): return 1"), code("def f(x): return 2"), code("g = f")]
    assert answering(two, ["f", "g"]) == {"f": 1}
    other = [code("def f(x): return 1"), code("def f(x): return 2", id="ex-g")]
    assert answering(other, ["f", "g"]) == {"f": 0, "g": 1}
    assert answering([code("def f(x): return 1"), code("", metadata={"exercise": "f"})], ["f"]) == {"f": 1}


def test_a_definition_is_one_at_the_top_level_in_text_that_need_not_parse():
    assert defines({"source": ["import x\n", "def f(x:\n"]}, "f")
    assert not defines({"source": "def f_2(x): pass\nclass A:\n    def f(self): pass"}, "f")


def test_a_mark_that_is_no_text_is_no_mark():
    assert mark({"metadata": {"exercise": 3}}) == mark({"metadata": None}) == mark({}) == ""
