"""The lessons of the course, a folder each. Exercises are found, not registered.

An exercise is a file: `lesson_NN_title/row_sum.py` holds `row_sum = Exercise(...)`, its mistakes and its
faulty variants. The order of a lesson's exercises is that of their cells in its `notebook.py`. What only one
lesson needs lies in its folder, what two lessons need in `shared`.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
import re
from pathlib import Path

from flashlearn.exercise import Exercise

_CELL = re.compile(r'^# %%.*\bexercise="(\w+)"', re.MULTILINE)


class UnknownExercise(LookupError):
    """No exercise has this name; the message names the closest ones."""

    def _render_traceback_(self) -> list[str]:
        """In Jupyter the sentence alone: a slip of the pen needs no stack."""
        return [str(self)]


@functools.cache
def all_exercises() -> dict[str, Exercise]:
    """Every exercise by name, in the order of the lessons and of their cells."""
    found: dict[str, Exercise] = {}
    for lesson in sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("lesson_")):
        folder = Path(__path__[0]) / lesson
        cells = _CELL.findall((folder / "notebook.py").read_text(encoding="utf-8"))
        declared = {
            value.name: value
            for name in sorted(_declaring(folder))
            for value in vars(importlib.import_module(f"{__name__}.{lesson}.{name}")).values()
            if isinstance(value, Exercise)
        }
        without_cell = [name for name in declared if name not in cells]
        found |= {name: declared[name] for name in [*cells, *without_cell] if name in declared}
    return found


def _declaring(folder: Path) -> set[str]:
    """The modules of a lesson's folder in which an exercise is declared: they assign to their own name.

    Only these are imported: pictures and other modules of a lesson cost a check nothing.
    """
    files = {path.stem: path for path in folder.glob("*.py") if path.stem not in ("notebook", "__init__")}
    return {
        name
        for name, path in files.items()
        if re.search(rf"^{name} = ", path.read_text(encoding="utf-8"), re.MULTILINE)
    }


def find(name: str) -> Exercise:
    """The exercise called `name`. Raises UnknownExercise, naming the closest ones."""
    exercises = all_exercises()
    if isinstance(name, str) and name in exercises:
        return exercises[name]
    raise UnknownExercise(_unknown(name, exercises))


def _unknown(name: object, exercises: dict[str, Exercise]) -> str:
    if not isinstance(name, str):
        meant = getattr(name, "__name__", "")
        example = meant if meant in exercises else next(iter(exercises))
        return f'An exercise is named in quotes, as in "{example}"; this is {_described(name)}.'
    unknown = f"There is no exercise called {name!r}"
    if name.isdecimal() and (there := lessons().get(name.zfill(2))):
        *names, last = (exercise.name for exercise in there)
        listed = f"{', '.join(names)} and {last}" if names else last
        return f"{unknown}: lesson {name.zfill(2)} has {listed}."
    written = name.strip().lower().replace("-", "_").replace(" ", "_")
    close = difflib.get_close_matches(written, exercises, n=3)
    close = close or [known for known in exercises if written and written in known][:3]
    return (
        f"{unknown}: did you mean {' or '.join(close)}?"
        if close
        else f"{unknown}: `flashlearn.status()` shows them all."
    )


def _described(value: object) -> str:
    return (
        f"the function {value.__name__}"
        if callable(value) and hasattr(value, "__name__")
        else f"{value!r:.60}"
    )


def lessons() -> dict[str, tuple[Exercise, ...]]:
    """Exercises by lesson number ("00", "02", …), in order."""
    grouped: dict[str, list[Exercise]] = {}
    for exercise in all_exercises().values():
        grouped.setdefault(exercise.lesson, []).append(exercise)
    return {lesson: tuple(exercises) for lesson, exercises in sorted(grouped.items())}
