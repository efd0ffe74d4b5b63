"""The course folder for nbgrader: its metadata, and nbgrader itself where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flashlearn.classroom.exports.nbgrader import export
from flashlearn.classroom.release import release
from flashlearn.course.files import Course, CourseError
from flashlearn.course.packaged_lessons import ROOT


@pytest.fixture
def course(tmp_path: Path) -> Path:
    handout = release(Course(ROOT), ("00",), tmp_path / "handout", "Week 1: a tour")
    assert export(handout, tmp_path / "handout", tmp_path / "course").name == "Week-1-a-tour"
    with pytest.raises(CourseError, match="exists already"):
        export(handout, tmp_path / "handout", tmp_path / "course")
    return tmp_path / "course"


def metadata(path: Path) -> dict[str, dict]:
    cells = json.loads(path.read_text())["cells"]
    marks = [cell["metadata"]["nbgrader"] for cell in cells if "nbgrader" in cell["metadata"]]
    return {one["grade_id"]: one for one in marks}


def test_exercises_are_solution_cells_and_checks_are_tests_with_points(course: Path):
    found = metadata(course / "source" / "Week-1-a-tour" / "00_tour.ipynb")
    assert list(found) == [
        f"{k}-{n}" for n in ("program_ids", "row_sum", "scaled_add") for k in ("ex", "check")
    ]
    assert found["ex-row_sum"] | {"grade_id": ""} == {
        "schema_version": 3, "grade_id": "", "grade": False, "locked": False, "solution": True, "task": False,
    }  # fmt: skip
    assert found["check-row_sum"]["points"] == 1 and found["check-row_sum"]["locked"]


def test_nbgrader_hands_out_grades_and_gives_feedback(course: Path):
    pytest.importorskip("nbgrader", reason="needs nbgrader")
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # nbgrader calls alembic
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": tools}

    def nbgrader(*arguments: str) -> None:
        command = [sys.executable, "-m", "nbgrader", *arguments]
        done = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    name = "Week-1-a-tour"
    nbgrader("generate_assignment", name)
    released = json.loads((course / "release" / name / "00_tour.ipynb").read_text())
    solved = json.loads((ROOT / "solutions" / "00_tour.ipynb").read_text())
    texts = {cell["id"]: cell["source"] for cell in solved["cells"]}
    for cell in released["cells"]:  # Ann answers two of three, and runs nothing else: it would take long
        if cell["id"] in ("ex-program_ids", "ex-row_sum"):
            cell["source"] = texts[cell["id"]]
    first = next(i for i, cell in enumerate(released["cells"]) if cell["cell_type"] == "code")
    released["cells"] = [
        cell for i, cell in enumerate(released["cells"]) if i == first or "nbgrader" in cell["metadata"]
    ]
    handed_in = course / "submitted" / "ann" / name / "00_tour.ipynb"
    handed_in.parent.mkdir(parents=True)
    handed_in.write_text(json.dumps(released))
    nbgrader("autograde", name)
    nbgrader("generate_feedback", name)
    assert (course / "feedback" / "ann" / name / "00_tour.html").is_file()

    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        graded = book.find_submission(name, "ann")
        assert (graded.score, graded.max_score) == (2, 3)
