"""Three hints per exercise, one at a time: the concept, the shape of the answer, nearly the line.

>>> hint("softmax_forward")          # as the last line of a cell: shown, and recorded
Hint 1 of 3 for softmax_forward (the concept): ...
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flashlearn.course import packaged_lessons
from flashlearn.course.files import Course, CourseError
from flashlearn.course.progress import Progress

if TYPE_CHECKING:
    from flashlearn.exercise import Exercise

STEPS = ("the concept", "the shape", "nearly the line")

_unrecorded: dict[tuple[Path, str], int] = {}
"""Steps shown while the progress file could not be written, so that the next call shows the next step."""


@dataclass(frozen=True)
class Hint:
    """One step of an exercise's hints; `step` is past the last one when there are no more."""

    exercise: str
    step: int
    text: str

    @property
    def title(self) -> str:
        """Which hint this is: "Hint 2 of 3 for softmax_forward (the shape)"."""
        if self.step > len(STEPS):
            return f"No more hints for {self.exercise}"
        return f"Hint {self.step} of {len(STEPS)} for {self.exercise} ({STEPS[self.step - 1]})"

    def __str__(self) -> str:
        return f"{self.title}: {self.text}"

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        """Markdown, so that Jupyter renders the hint's formulas and code."""
        return f"**{self.title}**\n\n{self.text}"


def hint(name: str, step: int | None = None, *, progress: Progress | None = None) -> Hint:
    """The next hint of exercise `name`, recorded as taken; or hint `step` (1, 2, 3) again.

    After three, the answer says that there are no more and where the solution is. Raises UnknownExercise,
    with similar names, if there is no such exercise, and CourseError for an invalid step.
    """
    from flashlearn.lessons import find  # the declarations import torch: only when needed

    exercise = find(name)
    progress = progress or Progress()
    if step is not None and step not in range(1, len(STEPS) + 1):
        raise CourseError(f"There is no hint {step} for {name}: hints are numbered from 1 to {len(STEPS)}.")
    before = max(progress.hints(name), _unrecorded.get((progress.path, name), 0))
    step = step or before + 1
    if step > len(STEPS):
        return Hint(name, step, _no_more(exercise))
    if step > before and not progress.hint_taken(name, step):
        _unrecorded[progress.path, name] = step
    return Hint(name, step, packaged_lessons.hints(exercise)[step - 1])


def _no_more(exercise: Exercise) -> str:
    again = f'All {len(STEPS)} were shown; `flashlearn.hint("{exercise.name}", 1)` shows the first again.'
    here = f'`flashlearn.solution("{exercise.name}")` gives the solution, explained.'
    return f"{again} {here} {_where_the_solution_is(Course.here(), exercise.lesson)}"


def _where_the_solution_is(course: Course, number: str) -> str:
    folder = course.solutions.relative_to(course.root).as_posix()
    found = sorted(course.solutions.glob(f"{number}_*.ipynb"))
    if found:
        unexecuted = "" if course.in_clone else "; run its cells to see what they show"
        return f"To see it within the whole lesson, open `{folder}/{found[0].name}`{unexecuted}."
    if course.in_clone:
        return f"To see it within the whole lesson, open the folder `{folder}/` of the course."
    return f"`flashlearn lab` puts the solved lesson into `{folder}/`."
