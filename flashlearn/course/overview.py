"""A learner's progress through the course: what has passed, what is next, what was just completed.

>>> overview = survey(Course.here(), Progress())
>>> overview.passed, overview.total, overview.next
(7, 46, (Lesson(stem='01_gradients', …), 'matmul_vjp'))
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flashlearn.course.files import Course, Lesson
from flashlearn.course.progress import Progress


@dataclass(frozen=True)
class ExerciseProgress:
    """A learner's progress with one exercise; `level` is its level in the lesson, such as "core"."""

    exercise: str
    passed: datetime | None
    attempts: int
    hints: int
    solution_seen: bool = False
    level: str = ""


@dataclass(frozen=True)
class Overview:
    """The whole course: `lessons` in reading order; `older` are lessons whose copy in work/ is outdated."""

    course: Course
    lessons: dict[Lesson, tuple[ExerciseProgress, ...]]
    older: tuple[Lesson, ...] = ()

    @property
    def everything(self) -> tuple[ExerciseProgress, ...]:
        """The progress with every exercise, in reading order."""
        return tuple(standing for standings in self.lessons.values() for standing in standings)

    @property
    def total(self) -> int:
        """The number of exercises."""
        return len(self.everything)

    @property
    def passed(self) -> int:
        """The number of exercises that have passed."""
        return count_passed(self.everything)

    @property
    def next(self) -> tuple[Lesson, str] | None:
        """The first exercise in reading order that has not passed; None when all have."""
        waiting = (
            (one, s.exercise) for one, standings in self.lessons.items() for s in standings if not s.passed
        )
        return next(waiting, None)

    @property
    def just_completed(self) -> Lesson | None:
        """The lesson that the latest pass completed, until another exercise passes; else None."""
        dated = [
            (s.passed, lesson) for lesson, standings in self.lessons.items() for s in standings if s.passed
        ]
        latest = max(dated, key=lambda one: one[0], default=(None, None))[1]
        return latest if latest is not None and self.is_complete(latest) else None

    def is_complete(self, lesson: Lesson) -> bool:
        """Whether every exercise of the lesson has passed, and it has some."""
        return bool(self.lessons[lesson]) and all(s.passed for s in self.lessons[lesson])

    def is_started(self, lesson: Lesson) -> bool:
        """Whether anything is recorded of an exercise of the lesson."""
        return any(s.passed or s.attempts or s.hints or s.solution_seen for s in self.lessons[lesson])

    def has_copy(self, lesson: Lesson) -> bool:
        """Whether the learner has a copy that a link can open."""
        return self.course.copy_of(lesson).exists()


def survey(course: Course, progress: Progress) -> Overview:
    """The current progress. Raises CourseError if a lesson cannot be read."""
    passed, attempts, hints = progress.passed(), progress.attempts(), progress.all_hints()
    seen = progress.solutions()
    lessons = {
        lesson: tuple(
            ExerciseProgress(
                name,
                passed.get(name),
                attempts.get(name, 0),
                hints.get(name, 0),
                name in seen,
                lesson.level(name),
            )
            for name in lesson.exercises
        )
        for lesson in course.lessons()
    }
    return Overview(course, lessons, course.older_copies())


def count_passed(standings: tuple[ExerciseProgress, ...]) -> int:
    return sum(standing.passed is not None for standing in standings)
