"""Hints: three steps, one at a time, remembered."""

from types import SimpleNamespace

import pytest

import flashlearn.lessons
from flashlearn.course import hints, packaged_lessons
from flashlearn.course.files import CourseError
from flashlearn.course.hints import hint
from flashlearn.course.progress import Progress
from tests.course.synthetic_course import lesson, make_course


@pytest.fixture(autouse=True)
def exercises(monkeypatch):
    """Two exercises in place of the package's; the hints' memory of other tests is put away."""
    steps = ("Think of a *mask*.", "One row per program.", "`tl.load(x + i, mask=i < n)`")
    known = {name: SimpleNamespace(name=name, lesson="00") for name in ("row_sum", "scaled_add")}
    monkeypatch.setattr(packaged_lessons, "hints", lambda exercise: steps)
    monkeypatch.setattr(flashlearn.lessons, "listed", lambda: known)
    monkeypatch.setattr(hints, "_unrecorded", {})


def test_hints_come_one_after_another_and_are_recorded():
    assert [hint("row_sum").text for _ in range(3)] == [
        "Think of a *mask*.",
        "One row per program.",
        "`tl.load(x + i, mask=i < n)`",
    ]
    assert Progress().hints("row_sum") == 3
    assert hint("scaled_add").step == 1


def test_after_three_the_answer_says_where_the_solution_is(tmp_path, monkeypatch):
    make_course(tmp_path / "course", {"00_tour": lesson("row_sum")})
    monkeypatch.setenv("FLASHLEARN_COURSE", str(tmp_path / "course"))
    for _ in range(3):
        hint("row_sum")
    last = hint("row_sum")
    assert last.title == "No more hints for row_sum"
    assert '`flashlearn.solution("row_sum")`' in last.text and "solutions/00_tour.ipynb" in last.text
    assert Progress().hints("row_sum") == 3


def test_outside_a_clone_the_solution_is_in_work_or_comes_there(tmp_path, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_COURSE", str(tmp_path))
    for _ in range(3):
        hint("row_sum")
    assert "`flashlearn lab` puts the solved lesson into `work/solutions/`." in hint("row_sum").text
    (tmp_path / "work" / "solutions").mkdir(parents=True)
    (tmp_path / "work" / "solutions" / "00_tour.ipynb").touch()
    assert "open `work/solutions/00_tour.ipynb`; run its cells" in hint("row_sum").text


def test_a_step_can_be_shown_again_without_taking_another():
    hint("row_sum")
    assert hint("row_sum", 1).text == "Think of a *mask*."
    assert Progress().hints("row_sum") == 1


def test_a_step_asked_for_ahead_counts_as_taken():
    hint("row_sum", 2)
    assert Progress().hints("row_sum") == 2
    assert hint("row_sum").step == 3


def test_a_step_that_does_not_exist_is_said():
    with pytest.raises(CourseError, match="numbered from 1 to 3"):
        hint("row_sum", 4)


def test_an_unknown_name_is_answered_with_close_ones():
    with pytest.raises(
        flashlearn.lessons.UnknownExercise, match=r"no exercise called 'row_sums': did you mean row_sum\?"
    ):
        hint("row_sums")


def test_a_hint_reads_in_print_and_in_jupyter():
    shown = hint("row_sum")
    assert str(shown) == repr(shown) == "Hint 1 of 3 for row_sum (the concept): Think of a *mask*."
    assert shown._repr_markdown_() == "**Hint 1 of 3 for row_sum (the concept)**\n\nThink of a *mask*."


def test_hints_go_on_where_progress_cannot_be_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path / "file" / "home"))
    assert [hint("row_sum").step for _ in range(4)] == [1, 2, 3, 4]
    assert "could not be read or written" in capsys.readouterr().err
