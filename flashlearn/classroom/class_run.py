"""A whole run: collect, check the structure, grade what is new, and store each grade as it comes.

>>> with Gradebook.open(path) as book, Pool(Grading()) as pool:
...     summary = grade_all(collected, handout, book, pool)
>>> summary.graded, summary.kept
(12, 288)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from flashlearn.classroom.collecting.collect import Collected, submissions
from flashlearn.classroom.gradebook import Gradebook
from flashlearn.classroom.handout import Handout
from flashlearn.classroom.job import Job, OnProgress, without_running
from flashlearn.classroom.records import JudgedExercise, SubmissionGrade


class Grader(Protocol):
    """What grades jobs: the local pool, or a cluster."""

    def run(
        self, jobs: Iterable[Job], on_progress: OnProgress = lambda job, judged: None
    ) -> Iterator[tuple[Job, SubmissionGrade]]: ...


@dataclass
class RunSummary:
    """What a run did, in notebooks: graded now, graded before, not gradable, and failed by the grader."""

    graded: int = 0
    kept: int = 0
    broken: int = 0
    failed: int = 0
    students: int = 0
    refused: list[str] = field(default_factory=list)


def grade_all(
    collected: Collected,
    handout: Handout,
    book: Gradebook,
    grader: Grader,
    regrade: bool = False,
    advanced: Callable[[int], None] = lambda count: None,
) -> RunSummary:
    """Grade everything that has no grade yet, or with `regrade` everything.

    `advanced` is called with the number of notebooks done: one for each student and lesson.
    """
    summary = RunSummary(students=len(collected.students), refused=list(collected.refused))
    waiting: dict[tuple[str, str], int] = {}
    here: set[tuple[str, str]] = set()

    def jobs() -> Iterator[Job]:
        for job in _enrolled(collected, handout, book):
            if (found := without_running(job)) is not None:
                summary.broken += 1
                book.keep(found)
                advanced(1)
            elif job.key in waiting:  # another student handed in the same, and it is being graded
                waiting[job.key] += 1
            elif job.key in here:  # it was graded a moment ago
                summary.graded += 1
                advanced(1)
            elif not regrade and book.has(*job.key):
                summary.kept += 1
                advanced(1)
            else:
                waiting[job.key] = 1
                if regrade:
                    book.forget(*job.key)
                yield dataclasses.replace(job, judged=book.judged(*job.key))

    def store(job: Job, judged: JudgedExercise) -> None:
        book.note(*job.key, judged)

    for job, grade in grader.run(jobs(), store):
        book.keep(grade)
        notebooks = waiting.pop(job.key)
        here.add(job.key)
        if grade.status == "infrastructure":
            summary.failed += notebooks
        else:
            summary.graded += notebooks
        advanced(notebooks)
    return summary


def _enrolled(collected: Collected, handout: Handout, book: Gradebook) -> Iterator[Job]:
    parts = handout.parts()
    for work in collected.students:
        for lesson, submission in submissions(work, handout):
            book.enrol(work.student, lesson, submission, parts[lesson])
            yield Job(submission, parts[lesson])
    here = {work.student.name for work in collected.students}
    for student, lesson, submission in book.of_another_assignment({k: one.key for k, one in parts.items()}):
        if lesson not in parts:
            book.withdraw(student, lesson)
        elif student.name not in here:  # handed in to an earlier run, from another folder
            book.enrol(student, lesson, submission, parts[lesson])
            yield Job(submission, parts[lesson])
