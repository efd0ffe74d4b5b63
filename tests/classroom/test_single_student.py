"""One student's folder, graded without a gradebook: the right notebooks, each once, and nothing made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flashlearn.classroom import release, single_student
from flashlearn.classroom.collecting.collect import Student
from flashlearn.classroom.job import Grading
from flashlearn.classroom.records import Submission
from flashlearn.classroom.results import NotebookResult, composed
from flashlearn.cli import app
from tests.classroom.small_class import hand_in, handout

MARKS = Grading("tests.classroom.graders:by_marks")


def test_every_lesson_is_graded_once_and_what_is_missing_is_said(tmp_path: Path):
    hand_in(tmp_path, "deep/er", "00_first", one="pass", two="wrong")
    (tmp_path / "link.ipynb").symlink_to("/etc/passwd")
    found = single_student.graded(tmp_path, handout(), grading=MARKS)
    assert found.complete and (found.points, found.out_of) == (2, 6)
    assert [(one.name, one.verdict) for one in found.exercises] == [
        ("one", "pass"), ("two", "wrong"), ("three", "missing"),
    ]  # fmt: skip
    first, second = found.parts
    assert any("link.ipynb was left out: it is a link" in note for note in first.submission.notes)
    assert "01_second.ipynb was not handed in" in second.submission.broken


@pytest.fixture
def grade_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    graded = single_student.graded
    monkeypatch.setattr(release, "read_handout", lambda *_given: handout())
    monkeypatch.setattr(
        single_student, "graded", lambda folder, asked, grading: graded(folder, asked, grading=MARKS)
    )
    for name in ("CLASSROOM", "ASSIGNMENT", "SUBMISSION_TAG", "COMMIT_URL", "RELEASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def call(place: str, **marks: str):
        hand_in(tmp_path / "in", "", "00_first", **marks)
        hand_in(tmp_path / "in", "", "01_second", three="pass")
        told = ["--place", place, "--out", f"{tmp_path}/out/r.json", "--feedback", f"{tmp_path}/out/f.md"]
        return CliRunner().invoke(app, ["class", "grade-one", f"{tmp_path}/in", *told])

    return call


@pytest.mark.parametrize("place", ["gradescope", "prairielearn"])
def test_the_command_writes_the_result_and_the_feedback(grade_one, place: str, tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "r.json").symlink_to(tmp_path / "elsewhere")
    found = grade_one(place, one="pass", two="pass")
    assert found.exit_code == 0 and "Sandbox layers around the student's code: " in found.stdout
    score = json.loads((tmp_path / "out" / "r.json").read_text())["score"]
    assert score == (6 if place == "gradescope" else 1.0)
    assert "6 of 6 points" in (tmp_path / "out" / "f.md").read_text()
    assert not (tmp_path / "elsewhere").exists(), "a link under the result's name is not followed"


def test_outside_its_runner_classroom_50_gets_nothing(grade_one, tmp_path: Path):
    found = grade_one("classroom50", one="pass")
    assert (
        found.exit_code == 2 and "$CLASSROOM is not set" in found.stderr and not (tmp_path / "out").exists()
    )


def test_where_the_grader_failed_nothing_is_written(
    grade_one, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def failed(_folder, asked, grading):
        part = NotebookResult("00", Submission("You", (), (), "key"), None, 1)
        return composed(Student("You"), (part,), asked.assignment)

    monkeypatch.setattr(single_student, "graded", failed)
    found = grade_one("gradescope", one="pass")
    assert found.exit_code == 1 and "not the student's fault" in found.stdout
    assert not (tmp_path / "out").exists()
