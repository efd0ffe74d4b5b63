"""What a teacher decides about grades is kept over grading again, and the grades stay what they were."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flashlearn.classroom.collecting.collect import collect, submissions
from flashlearn.classroom.exports import tables
from flashlearn.classroom.gradebook import Gradebook
from flashlearn.classroom.pages.feedback import as_markdown, in_html, of
from flashlearn.classroom.pages.report import SOLUTION, render, summary
from flashlearn.classroom.policy import Override, Policy
from flashlearn.classroom.records import Submission
from flashlearn.classroom.roster import read_roster
from flashlearn.cli.classroom import app
from flashlearn.course.files import CourseError
from tests.classroom.collecting.test_collect import CONTENT, METADATA, write
from tests.classroom.small_class import hand_in, handout
from tests.classroom.test_class_run import results, run, three  # noqa: F401  a fixture


def opened(folder: Path):
    return Gradebook.open(folder / "book.sqlite")


def test_points_and_a_comment_are_kept_over_grading_again(three: Path):  # noqa: F811
    run(three)
    with opened(three) as book:
        book.override("Bob", "two", Override(1.5, "Nearly <right>."))
    run(three, regrade=True)
    found = results(three)["Bob"]
    assert (found.points, found.exercises[1].points) == (4, 1.5)
    pages = of(found, handout().assignment, {})
    assert "Your teacher set these points" in as_markdown(pages) and "Nearly &lt;right&gt;." in in_html(pages)
    with opened(three) as book:
        assert ("Bob", "two", "You set 1.5 points. Nearly <right>.") in summary(book).remarks
        book.override("Bob", "two", None)
    assert results(three)["Bob"].points == 2


def test_who_hands_in_nothing_has_a_row(three: Path):  # noqa: F811
    run(three)
    with opened(three) as book:
        book.enlist(read_roster('Student,ID\n    Points Possible,\n"Lee, Cem",7\nAnn,8\n'))
    found = results(three)
    assert set(found) == {"Ann", "Bob", "Eve", "Cem Lee"}
    assert (found["Cem Lee"].points, found["Cem Lee"].complete) == (0, True)
    assert "Cem Lee,0,6" in tables.plain(found.values(), handout().assignment)
    assert "Nothing was handed in" in as_markdown(of(found["Cem Lee"], handout().assignment, {}))


def test_a_roster_without_names_is_a_sentence():
    with pytest.raises(CourseError, match="no column"):
        read_roster("a,b\n1,2\n")


def test_late_work_loses_its_percents_for_each_day_that_has_begun():
    policy = Policy("2026-09-01T12:00+00:00", 10, 25)
    of_ = lambda **what: policy.taken_off(Submission("Ann", (), (), "", **what))  # noqa: E731
    assert [of_(handed_in=f"2026-09-0{day}T12:30+00:00") for day in (1, 2, 4)] == [10, 20, 25]
    assert of_(handed_in="2026-09-01T13:59+02:00") == 0 and of_(late=True) == 10 and of_() == 0


def test_dates_are_those_of_the_platforms(tmp_path: Path):
    dated = METADATA.replace("submission_102:", "  :created_at: 2026-09-02 08:00:00.5 Z\nsubmission_102:")
    files = {"submission_101/00_first.ipynb": CONTENT, "submission_102/00_first.ipynb": CONTENT}
    write(tmp_path / "g", files | {"submission_metadata.yml": dated.encode()})
    ann, bob = collect(tmp_path / "g").students
    assert ann.handed_in == "2026-09-02T08:00:00.500000+00:00" and bob.handed_in == ""
    write(tmp_path / "c", {"ann_1_9_00_first.ipynb": CONTENT, "bob_LATE_2_9_00_first.ipynb": CONTENT})
    found = {
        work.student.name: dict(submissions(work, handout()))["00"]
        for work in collect(tmp_path / "c").students
    }
    assert (found["ann"].late, found["bob"].late) == (False, True)


def test_late_work_loses_points_and_says_so(tmp_path: Path):
    write(tmp_path / "in", {"ann_1_9_00_first.ipynb": CONTENT, "bob_LATE_2_9_00_first.ipynb": CONTENT})
    run(tmp_path)
    with opened(tmp_path) as book:
        book.decide(Policy(per_day=50))
    found = results(tmp_path)
    assert (found["ann"].points, found["bob"].points) == (2, 1)
    assert "lesson 00 loses 50 % of its points" in as_markdown(of(found["bob"], handout().assignment, {}))


def test_the_best_attempt_counts_if_the_teacher_says_so(three: Path):  # noqa: F811
    run(three)
    hand_in(three / "in", "Ann", one="wrong", two="wrong")
    run(three)
    assert results(three)["Ann"].points == 2
    with opened(three) as book:
        book.decide(Policy(attempts="best"))
    assert results(three)["Ann"].points == 6


LONG = (
    "def one(x):\n"
    + "".join(f"    step{i} = x * {i} + len(str({i * 7}))\n" for i in range(20))
    + "    return x  # mark: wrong"
)


def test_answers_are_compared_with_those_of_an_earlier_year(tmp_path: Path):
    for year, name, mark in (("old", "Zoe", "wrong"), ("new", "Ann", "pass"), ("new", "Bob", "wrong")):
        path = hand_in(tmp_path / year / "in", name, one=mark)
        if name != "Bob":
            text = path.read_text().replace(
                f"def one(x):\\n    return x  # mark: {mark}", LONG.replace("\n", "\\n")
            )
            path.write_text(text)
    run(tmp_path / "old")
    run(tmp_path / "new")
    with opened(tmp_path / "old") as old, opened(tmp_path / "new") as new:
        assert not summary(new).pairs
        (pair,) = summary(new, [("2025", old)]).pairs
    assert (pair.one, pair.other) == ("Ann", "Zoe, 2025")


def test_an_anonymous_report_has_no_name_and_a_stand_in_is_understood(three: Path):  # noqa: F811
    run(three)
    with opened(three) as book:
        page = render(summary(book, anonymous=True))
        stand_in = next(one for one, name in book.names().items() if name == "Bob")
    assert "Bob" not in page and "Ann" not in page and stand_in in page
    given = ["override", stand_in, "two", "--points", "2", "--db", str(three / "book.sqlite")]
    assert CliRunner().invoke(app, given).exit_code == 0
    assert results(three)["Bob"].points == 4


def test_a_policy_is_kept_by_its_command(three: Path):  # noqa: F811
    run(three)
    given = ["policy", "--due", "2026-09-01T23:59", "--per-day", "10", "--attempts", "best"]
    assert CliRunner().invoke(app, [*given, "--db", str(three / "book.sqlite")]).exit_code == 0
    with opened(three) as book:
        assert dataclasses.astuple(book.policy()) == ("2026-09-01T23:59", 10.0, 100.0, "best")


def test_the_courses_solution_is_among_what_answers_are_compared_with():
    from flashlearn.classroom.pages.report import _others

    assert [who for who, text in _others(["row_sum"], [])["row_sum"]] == [SOLUTION]
