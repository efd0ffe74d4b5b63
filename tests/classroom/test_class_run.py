"""A run of the classroom: every notebook is graded once, whatever dies on the way."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from flashlearn.classroom.class_run import RunSummary, grade_all
from flashlearn.classroom.collecting.collect import collect, submissions
from flashlearn.classroom.gradebook import Gradebook
from flashlearn.classroom.handout import key_of
from flashlearn.classroom.job import Grading, Job, failed, job_from, perform, read_outcome
from flashlearn.classroom.records import SubmissionGrade
from flashlearn.classroom.results import Result, half_up
from flashlearn.classroom.whole_files import write_whole
from flashlearn.classroom.workers.pool import Pool
from flashlearn.course.files import CourseError
from tests.classroom.graders import by_marks
from tests.classroom.processes import alive, beneath, workers
from tests.classroom.small_class import hand_in, handout

MARKS = Grading("tests.classroom.graders:by_marks")


class Inline:
    """A pool without processes, for what does not depend on them."""

    def run(
        self, jobs: Iterable[Job], note=lambda job, judged: None
    ) -> Iterator[tuple[Job, SubmissionGrade]]:
        for job in jobs:
            outcome = read_outcome(job, perform(job.text(), by_marks, functools.partial(note, job)))
            yield job, failed(job, outcome) if isinstance(outcome, str) else outcome


def run(
    folder: Path, given=None, regrade: bool = False, pool=None, advanced=lambda count: None
) -> RunSummary:
    given = given or handout()
    with Gradebook.open(folder / "book.sqlite") as book, pool or contextlib.nullcontext():
        book.begin(given)
        return grade_all(collect(folder / "in"), given, book, pool or Inline(), regrade, advanced)


def results(folder: Path) -> dict[str, Result]:
    with Gradebook.read(folder / "book.sqlite") as book:
        return {result.student.name: result for result in book.results()}


@pytest.fixture
def three(tmp_path: Path) -> Path:
    hand_in(tmp_path / "in", "Ann", one="pass", two="pass")
    hand_in(tmp_path / "in", "Ann", "01_second", three="pass")
    hand_in(tmp_path / "in", "Bob", one="pass", two="wrong")
    (tmp_path / "in" / "Eve").mkdir()
    (tmp_path / "in" / "Eve" / "00_first.ipynb").write_text("{")
    return tmp_path


def test_a_class_is_graded_and_broken_notebooks_stop_nobody(three: Path):
    done: list[int] = []
    tally = run(three, advanced=done.append)
    assert (tally.students, tally.graded, tally.broken, tally.failed) == (3, 3, 3, 0)
    assert sum(done) == 6
    found = results(three)
    points = {name: (one.points, one.out_of) for name, one in found.items()}
    assert points == {"Ann": (6, 6), "Bob": (2, 6), "Eve": (0, 6)}
    assert [e.verdict for e in found["Bob"].exercises] == ["pass", "wrong", "missing"]
    assert found["Eve"].complete and "not a notebook" in found["Eve"].parts[0].submission.broken


def test_what_is_graded_is_not_graded_again_until_it_changes_or_is_asked_for(three: Path):
    run(three)
    tally = run(three)
    assert (tally.graded, tally.kept) == (0, 3)
    hand_in(three / "in", "Bob", one="wrong", two="pass")
    tally = run(three)
    assert (tally.graded, tally.kept) == (1, 2)
    bob = results(three)["Bob"]
    assert [e.verdict for e in bob.exercises] == ["wrong", "pass", "missing"]
    assert bob.parts[0].attempts == 2
    assert run(three, regrade=True).graded == 3
    assert run(three, handout(draws=b"another secret")).graded == 3
    assert run(three).graded == 0, "grades of what was asked before are still there"


def test_students_who_hand_in_the_same_are_graded_by_one_job(tmp_path: Path):
    for student in ("Ann", "Bob", "Cem"):
        hand_in(tmp_path / "in", student, one="pass", two="wrong")
    tally = run(tmp_path)
    assert (tally.graded, tally.kept, tally.broken) == (3, 0, 3)
    assert [one.points for one in results(tmp_path).values()] == [2, 2, 2]


def test_whatever_becomes_of_a_worker_its_job_is_graded_or_marked(three: Path):
    hand_in(three / "in", "Bob", one="dies", two="pass")
    hand_in(three / "in", "Dan", one=f"dies once {three}/died", two="pass")
    pool = Pool(MARKS, workers=2, deaths=2)
    tally = run(three, pool=pool)
    assert (tally.graded, tally.failed, pool.restarted) == (3, 1, 3)
    found = results(three)
    assert (found["Ann"].points, found["Dan"].points) == (6, 4)
    assert not found["Bob"].complete
    assert "its worker died, 2 times" in found["Bob"].exercises[0].for_teacher


def test_what_was_judged_before_a_worker_died_is_not_judged_again(three: Path):
    log = three / "judged"
    hand_in(three / "in", "Dan", one=f"wrong\n# logs: {log}", two=f"dies once {three}/died\n# logs: {log}")
    assert run(three, pool=Pool(MARKS, workers=1)).failed == 0
    assert [one.verdict for one in results(three)["Dan"].exercises[:2]] == ["wrong", "pass"]
    assert log.read_text().split() == ["one", "two", "two"]


def test_an_attempt_in_which_something_new_was_judged_is_no_try(three: Path):
    hand_in(three / "in", "Dan", one=f"dies once {three}/a", two=f"dies once {three}/b")
    pool = Pool(MARKS, workers=1, deaths=2)
    assert run(three, pool=pool).failed == 0 and pool.restarted == 2
    hand_in(three / "in", "Dan", one="pass", two="dies")
    pool = Pool(MARKS, workers=1, deaths=2)
    assert run(three, pool=pool).failed == 1 and pool.restarted == 3, "a step is counted once"


def test_what_has_lost_its_worker_is_given_to_two_when_nothing_else_is_left(tmp_path: Path):
    """Whichever is done first gives the grade; it counts once."""
    hand_in(tmp_path / "in", "Dan", one=f"dies once {tmp_path}/a", two="pass")
    done: list[int] = []
    pool = Pool(MARKS, workers=2, deaths=2)
    tally = run(tmp_path, pool=pool, advanced=done.append)
    assert (tally.graded, tally.failed, pool.restarted) == (1, 0, 1) and sum(done) == 2
    assert not any(worker.job for worker in pool.workers)


def test_a_run_that_was_killed_goes_on_within_a_submission_unless_it_is_to_grade_all_again(three: Path):
    log = three / "judged"
    hand_in(three / "in", "Dan", one=f"pass\n# logs: {log}", two="raises")
    assert run(three).failed == 1 and run(three).failed == 1
    assert log.read_text().split() == ["one"]
    assert run(three, regrade=True).failed == 1
    assert log.read_text().split() == ["one", "one"]


def test_nothing_is_left_of_what_was_judged_once_there_is_a_grade(three: Path):
    run(three)
    with Gradebook.read(three / "book.sqlite") as book:
        assert book.connection.execute("SELECT count(*) FROM judged").fetchone() == (0,)


def test_a_failure_of_the_graders_is_marked_and_tried_again_by_the_next_run(three: Path):
    hand_in(three / "in", "Cem", one="raises", two="pass")
    for _ in range(2):
        assert run(three).failed == 1
    cem = results(three)["Cem"]
    assert not cem.complete and "the grader tripped" in cem.exercises[0].for_teacher


def test_a_job_that_never_ends_is_marked_and_workers_end_with_the_pool(three: Path):
    hand_in(three / "in", "Bob", one="sleeps")
    pool = Pool(MARKS, workers=1, patience=1.0, tries=2)
    numbers = []
    tally = run(three, pool=pool, advanced=lambda _: numbers.extend(workers(os.getpid())))
    assert (tally.graded, tally.failed) == (2, 1)
    assert "more than 1 s" in results(three)["Bob"].exercises[0].for_teacher
    assert numbers and not any(alive(number) for number in numbers)


def test_a_worker_has_its_grader_open_and_imports_nothing_of_the_folder_that_the_teacher_is_in(
    three: Path, monkeypatch: pytest.MonkeyPatch
):
    (three / "json.py").write_text("raise SystemExit('this is what a student handed in')")
    monkeypatch.chdir(three)
    assert run(three, pool=Pool(Grading("tests.classroom.graders:Kept", unsafe=True), workers=1)).graded == 3
    assert results(three)["Ann"].unsafe


def test_a_grader_that_cannot_begin_is_a_sentence(three: Path):
    with pytest.raises(CourseError, match=r"Grading cannot start\. OSError: no sandbox here"):
        run(three, pool=Pool(Grading("tests.classroom.graders:Kept"), workers=1))


def test_a_job_travels_as_text(three: Path):
    parts = handout(draws=b"secret").parts()
    for work in collect(three / "in").students:
        for lesson, submission in submissions(work, handout()):
            job = Job(submission, parts[lesson])
            assert job_from(job.text()) == job


def test_a_run_whose_workers_are_killed_again_and_again_grades_everything(tmp_path: Path):
    """And once what they are forked from: that ends both of them, and no job is to blame."""
    for number in range(24):
        hand_in(tmp_path / "in", f"student {number}", one="pass", two=f"wrong, number {number}")
    killed = []

    def kill(_count: int) -> None:
        found = workers(os.getpid())
        if found and len(killed) < 9:
            victim = pool.server.process.pid if len(killed) == 4 else found[-1]
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    pool = Pool(MARKS, workers=2, deaths=9)
    tally = run(tmp_path, pool=pool, advanced=kill)
    assert (tally.graded, tally.failed) == (24, 0)
    # on a busy machine there may be nobody to kill, and one that dies between two jobs need not be replaced
    assert len(killed) > 4 and pool.server.started == 2
    assert pool.restarted >= len(killed) // 2
    assert all(one.complete and one.points == 2 for one in results(tmp_path).values())


def test_one_gradebook_has_one_writer(three: Path):
    path = three / "book.sqlite"
    with Gradebook.open(path), pytest.raises(CourseError, match="another"), Gradebook.open(path):
        pass


def test_what_is_no_gradebook_is_a_sentence(tmp_path: Path):
    path = tmp_path / "book.sqlite"
    with pytest.raises(CourseError, match="There is no gradebook"), Gradebook.read(path):
        pass
    path.write_text("points: 5" * 1000)
    for way in (Gradebook.open, Gradebook.read):
        with pytest.raises(CourseError, match=r"cannot be used|not a gradebook"), way(path) as book:
            book.assignment()


def test_points_are_rounded_once_and_halves_go_up():
    assert [half_up(x) for x in (0, 0.49, 0.5, 1.5, 2.4, 1 / 3 + 1 / 6, 2 / 3 * 3)] == [0, 0, 1, 2, 2, 1, 2]


def test_a_run_that_is_killed_again_and_again_loses_nothing_and_grades_nothing_twice(tmp_path: Path):
    marks = list(itertools.product(("pass", "wrong", "todo"), repeat=2))
    for number, (one, two) in enumerate(marks):
        hand_in(tmp_path / "in", f"student {number}", one=one, two=two)
    log = tmp_path / "graded"
    for after in range(3):
        process = multiprocessing.get_context("fork").Process(target=_until, args=(tmp_path, log, after))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    run(tmp_path, pool=_Logging(log, 1000))
    worth = {"pass": 2, "wrong": 0, "todo": 0}
    for name, result in results(tmp_path).items():
        one, two = marks[int(name.split()[1])]
        assert result.points == worth[one] + worth[two] and result.complete
    graded = log.read_text().split()
    assert len(set(graded)) == len(marks)
    assert len(graded) <= len(marks) + 3, "of each run that was killed, at most one grade was not written yet"


class _Logging(Inline):
    """Kills its own process while the next grade is on its way to the gradebook."""

    def __init__(self, log: Path, after: int):
        self.log, self.after = log, after

    def __enter__(self) -> None: ...

    def __exit__(self, *_error: object) -> None: ...

    def run(
        self, jobs: Iterable[Job], note=lambda job, judged: None
    ) -> Iterator[tuple[Job, SubmissionGrade]]:
        for number, (job, grade) in enumerate(super().run(jobs, note)):
            with self.log.open("a") as file:
                file.write(f"{job.submission.key}\n")
            if number > self.after:
                os.kill(os.getpid(), signal.SIGKILL)
            yield job, grade


def _until(folder: Path, log: Path, after: int) -> None:
    run(folder, pool=_Logging(log, after))


def test_workers_end_when_the_parent_is_killed(tmp_path: Path):
    hand_in(tmp_path / "in", "Ann", one="sleeps")
    process = multiprocessing.get_context("fork").Process(target=_graded_by_one, args=(tmp_path,))
    process.start()
    while not workers(process.pid):
        assert process.is_alive()
        os.sched_yield()
    found = beneath(process.pid)
    process.kill()
    process.join()
    while any(alive(number) for number in found):
        os.sched_yield()


def _graded_by_one(folder: Path) -> None:
    run(folder, pool=Pool(MARKS, workers=1))


def test_a_notebook_is_graded_by_itself():
    """Two notebooks of one student may use a name for different things."""
    assert {lesson: [e.name for e in part.exercises] for lesson, part in handout().parts().items()} == {
        "00": ["one", "two"],
        "01": ["three"],
    }


def test_an_earlier_runs_student_stays_when_the_manifest_changes(three: Path):
    run(three)
    (three / "in").rename(three / "earlier")
    hand_in(three / "in", "Zoe", one="pass", two="pass")
    tally = run(three, handout(rule="share"))
    found = results(three)
    assert set(found) == {"Ann", "Bob", "Eve", "Zoe"} and found["Ann"].points == 6
    assert all(part.grade is not None for part in found["Bob"].parts) and tally.failed == 0


def without(name: str):
    """The handout with one exercise fewer."""
    given = handout()
    asked = tuple(one for one in given.assignment.exercises if one.name != name)
    assignment = dataclasses.replace(given.assignment, exercises=asked)
    return dataclasses.replace(given, assignment=dataclasses.replace(assignment, key=key_of(assignment)))


def test_attempts_are_versions_that_were_handed_in_whatever_the_manifest_asks(three: Path):
    run(three)
    run(three, without("two"))
    assert {part.attempts for part in results(three)["Ann"].parts} == {1}
    hand_in(three / "in", "Ann", one="wrong", two="pass")
    run(three, without("two"))
    assert max(part.attempts for part in results(three)["Ann"].parts) == 2


def test_another_secret_is_noticed(three: Path):
    run(three)
    with Gradebook.open(three / "book.sqlite") as book:
        assert not book.has_another_secret(handout())
        assert book.has_another_secret(handout(draws=b"another"))
        assert not book.has_another_secret(handout(rule="share", draws=b"another"))


def test_a_full_disk_leaves_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = tmp_path / "report.html"
    write_whole(page, "before")

    def full(self: Path, *_given: object, **_named: object) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError):
        write_whole(page, "after")
    assert page.read_bytes() == b"before" and os.listdir(tmp_path) == ["report.html"]
