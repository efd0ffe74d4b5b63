"""The lessons of the course, a folder each. Exercises are found, not registered.

An exercise is any module-level `Exercise` of a module `lesson_NN_title.exercises`. What only one lesson needs
lies in its folder, what two lessons need in `shared`.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil

from flashlearn.exercise import Exercise


class UnknownExercise(LookupError):
    """No exercise has this name; the message names the closest ones."""


@functools.cache
def all_exercises() -> dict[str, Exercise]:
    """Every exercise by name, in the order of the lessons and of their declaration."""
    found: dict[str, Exercise] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("lesson_")):
        for value in vars(importlib.import_module(f"{__name__}.{module}.exercises")).values():
            if isinstance(value, Exercise):
                found[value.name] = value
    return found


def find(name: str) -> Exercise:
    """The exercise called `name`. Raises UnknownExercise, naming the closest ones."""
    exercises = all_exercises()
    if name in exercises:
        return exercises[name]
    close = difflib.get_close_matches(str(name), exercises, n=3)
    suggestion = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(exercises)}."
    raise UnknownExercise(f"There is no exercise called {name!r}: {suggestion}")


def lessons() -> dict[str, tuple[Exercise, ...]]:
    """Exercises by lesson number ("00", "02", …), in order."""
    grouped: dict[str, list[Exercise]] = {}
    for exercise in all_exercises().values():
        grouped.setdefault(exercise.lesson, []).append(exercise)
    return {lesson: tuple(exercises) for lesson, exercises in sorted(grouped.items())}
