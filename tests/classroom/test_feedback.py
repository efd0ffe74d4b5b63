"""A student's page: the verdict, the mistake and the line, and nothing that is not theirs to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from flashlearn.classroom.collecting.collect import Student
from flashlearn.classroom.pages import feedback
from flashlearn.classroom.pages.formatting import fenced, in_html, in_markdown
from flashlearn.classroom.records import (
    AssignedExercise,
    Assignment,
    ExerciseGrade,
    Submission,
    SubmissionGrade,
)
from flashlearn.classroom.results import NotebookResult, Result

HOSTILE = "<script>alert(1)</script> [x](javascript:alert(1)) `</code><img src=x onerror=y>` *"
ASSIGNMENT = Assignment(
    "Week 1", (AssignedExercise("one", "00", 2), AssignedExercise("two", "00", 2)), "1", b"the draws"
)
TITLES = {"one": "The first", "two": "The second"}


def result(name: str = "Ann", *exercises: ExerciseGrade, notes: tuple[str, ...] = ()) -> Result:
    submission = Submission(name, ("a.ipynb",), (), "key", notes)
    grade = SubmissionGrade(name, "key", "akey", "graded", 0, 4, exercises, layers=("bwrap",), seconds=3.0)
    return Result(Student(name), (NotebookResult("00", submission, grade, 1),), 4, exercises)


WRONG = ExerciseGrade(
    "one", "wrong", 0.5, 2, 1, 4, "It adds `x` twice.", 7, "    y = x + x", "Look at `y`.", "twice",
    for_teacher="looks copied", seconds=1.25,
)  # fmt: skip
PASS = ExerciseGrade("two", "pass", 2, 2, 5, 5)


@pytest.mark.parametrize("shown", [feedback.in_html, feedback.as_markdown])
def test_a_page_says_the_mistake_and_the_line_and_nothing_of_the_teachers(shown):
    page = shown(feedback.of(result("Ann", WRONG, PASS, notes=("Two cells.",)), ASSIGNMENT, TITLES))
    for said in ("Week 1", "Ann", "3 of 4 points", "1 of 2 exercises passed", "not right yet", "The first"):
        assert said in page
    for said in (
        "Two cells.",
        "twice.",
        "Line 7 of its cell",
        "y = x + x",
        "0.5 of 2 points",
        "1 of 4 cases",
    ):
        assert said in page
    for kept in ("looks copied", "bwrap", "the draws", "1.25", "akey"):
        assert kept not in page


def test_our_own_failure_is_said_as_ours():
    failed = ExerciseGrade(
        "one", "not graded", 0, 2, sentence="Traceback: …", for_teacher="The grader failed"
    )
    page = feedback.as_markdown(feedback.of(result("Ann", failed), ASSIGNMENT, TITLES))
    assert "not your fault" in page and "Traceback" not in page and "grader failed" not in page


def test_nothing_that_a_student_wrote_becomes_markup():
    bad = ExerciseGrade("one", "wrong", 0, 2, 0, 1, HOSTILE, 1, f"x = '{HOSTILE}'\n```\n<b>", HOSTILE)
    of = feedback.of(result(HOSTILE, bad, notes=(HOSTILE,)), ASSIGNMENT, TITLES)
    html = feedback.in_html(of)
    for tag in ("<script", "<img", "<b>alert", "</code><img"):
        assert tag not in html
    assert "script-src" not in html and "default-src 'none'" in html
    markdown = feedback.as_markdown(of)
    assert "[x](javascript" not in in_markdown(HOSTILE) and "\\<script" in markdown
    assert "````python" in markdown
    assert in_markdown("a\n# b") == "a \\# b"
    assert in_html("a ‮b\x00") == "a �b�"
    assert fenced("``` x").startswith("````python")


def test_files_are_named_after_students_wherever_they_may_lie(tmp_path: Path):
    names = ["Ann", "ann", "../up", "a/b", "", "x" * 300, "Łukasz (3)", "\ud800"]
    stems = [stem for _, stem in feedback.file_names(result(name) for name in names)]
    assert stems[0] == "Ann" and "Łukasz (3)" in stems
    assert len({stem.casefold() for stem in stems}) == len(names)
    for stem in stems:
        assert "/" not in stem and stem.strip(".") and len(stem.encode("utf-8", "replace")) < 200
