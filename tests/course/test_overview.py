"""Where a learner stands: what counts, what is next, and what was just completed."""

import pytest

from flashlearn.course.files import Course
from flashlearn.course.overview import Overview, survey
from flashlearn.course.progress import Progress
from flashlearn.outcome import Status
from tests.course.synthetic_course import lesson, make_course


@pytest.fixture
def course(tmp_path) -> Course:
    lessons = {
        "00_tour": lesson("program_ids", "row_sum", title="The tour"),
        "02_softmax": lesson("softmax_forward", title="Softmax"),
    }
    return make_course(tmp_path / "course", lessons)


def after(course: Course, *passed: str) -> Overview:
    for name in passed:
        Progress().attempt(name, Status.PASS, 0.1)
    return survey(course, Progress())


def test_standings_follow_the_course_and_say_what_was_done(course):
    progress = Progress()
    progress.attempt("row_sum", Status.PASS, 0.1)
    progress.hint_taken("program_ids", 2)
    progress.solution_seen("program_ids")
    overview = survey(course, progress)
    first, second, third = overview.everything
    assert (first.exercise, first.passed, first.attempts, first.hints) == ("program_ids", None, 0, 2)
    assert first.solution_seen and not second.solution_seen
    assert (second.exercise, second.passed is not None, second.attempts) == ("row_sum", True, 1)
    assert (overview.passed, overview.total) == (1, 3) and third.exercise == "softmax_forward"


def test_what_is_next_is_the_first_that_has_not_passed(course):
    upcoming, name = after(course, "program_ids").next
    assert (upcoming.stem, name) == ("00_tour", "row_sum")
    assert after(course, "row_sum", "softmax_forward").next is None


def test_a_lesson_is_just_completed_until_something_of_another_one_passes(course, monkeypatch):
    moments = iter(f"2026-03-01T09:30:0{second}+00:00" for second in range(9))
    monkeypatch.setattr("flashlearn.course.progress._now", lambda: next(moments))
    assert after(course).just_completed is None
    assert after(course, "program_ids").just_completed is None
    assert after(course, "row_sum").just_completed.stem == "00_tour"
    Progress().attempt("softmax_forward", Status.WRONG, 0.1)
    assert after(course).just_completed.stem == "00_tour"
    assert after(course, "softmax_forward").just_completed.stem == "02_softmax"
    assert after(course, "program_ids").just_completed.stem == "02_softmax", "it had passed before"


def test_a_progress_file_from_before_solutions_were_recorded_is_read_and_kept(course, capsys):
    progress = Progress()
    progress.attempt("row_sum", Status.PASS, 0.1)
    with progress._open() as connection:
        connection.execute("DROP TABLE solutions")
    assert progress.solutions() == set() and progress.started() == {"row_sum"}
    assert survey(course, progress).passed == 1
    assert progress.solution_seen("row_sum") and progress.solutions() == {"row_sum"}
    assert not capsys.readouterr().err and not list(progress.path.parent.glob("*damaged*"))
