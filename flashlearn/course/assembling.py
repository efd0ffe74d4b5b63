"""A learner's own functions from earlier lessons, assembled: theirs if they pass, else the course's.

    >>> parts = assemble("flash_forward", "dq_kernel")
    >>> parts["dq_kernel"](q, k, v, o, do, lse, alpha)
    >>> parts
    flash_forward   yours, from work/06_flash_forward.ipynb: 16 cases passed just now
    dq_kernel       the course's: you have not passed dq_kernel yet

A function is looked up in this Python session first (it passed a check here), then in the learner's
notebooks, if the progress file says that its exercise was passed once. It may have been changed since, so a
function found in a notebook must pass its cases again, observed, before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flashlearn.course import answers
from flashlearn.course.files import Course
from flashlearn.course.progress import Progress
from flashlearn.exercise import Exercise
from flashlearn.judging.cases import run
from flashlearn.lessons import find
from flashlearn.machine.process_settings import one_thread
from flashlearn.outcome import Status

__all__ = ["Part", "Parts", "assemble"]


@dataclass(frozen=True)
class Part:
    """One function, whether the learner wrote it, and a description of its origin."""

    function: Callable[..., Any]
    yours: bool
    origin: str


class Parts(Mapping):
    """Functions by the names of their exercises; its text says where each one comes from."""

    def __init__(self, parts: dict[str, Part]):
        self.parts = parts

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self.parts[name].function

    def __iter__(self):
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        width = max(map(len, self.parts), default=0)
        return "\n".join(f"{name:{width}}   {part.origin}" for name, part in self.parts.items())


def assemble(*names: str) -> Parts:
    """The functions of the named exercises, each with its origin."""
    passed = Progress().passed()
    return Parts({name: _find(find(name), name in passed) for name in names})


def _find(exercise: Exercise, passed: bool) -> Part:
    here = answers.passed_or_solution(exercise.name)
    if here is not answers.solution(exercise):
        return Part(here, True, "yours, from this session: its check passed here")
    if not passed:
        return _course(exercise, f"you have not passed {exercise.name} yet")
    try:
        return _from_notebook(exercise)
    except Exception as error:  # a learner's cells may raise anything; the lesson goes on without them
        head = (str(error).splitlines() or [type(error).__name__])[0]
        return _course(exercise, f"yours could not be loaded ({head})")


def _from_notebook(exercise: Exercise) -> Part:
    """The cell of the learner's notebook, run and checked again."""
    from flashlearn.course.authoring import load_exercise  # imports jupytext

    course = Course.here()
    lesson = course.exercises()[exercise.name]
    path = course.copy_of(lesson)
    if not path.exists():
        return _course(exercise, f"you have passed it, but there is no {path.name} in {course.work.name}/")
    where = f"{course.work.name}/{path.name}"
    function = load_exercise(path, exercise.name)
    with one_thread():
        outcomes = run(exercise, function, compiled=False)
    failed = next((o for o in outcomes if o.status is not Status.PASS), None)
    if failed is not None:
        state = failed.status.value
        saved = f"the cell in {where}, as last saved, no longer passes"
        return _course(exercise, f"{saved} ({failed.case.name}: {state})")
    return Part(function, True, f"yours, from {where}: {len(outcomes)} cases passed just now")


def _course(exercise: Exercise, reason: str) -> Part:
    return Part(answers.solution(exercise), False, f"the course's: {reason}")
