"""The lessons of the course, a folder each. Exercises are found, not registered.

An exercise is a file: `lesson_NN_title/row_sum.py` holds `row_sum = Exercise(...)`, its mistakes and its
faulty variants. The order of a lesson's exercises is that of their cells in its `notebook.py`. What only one
lesson needs lies in its folder, what two lessons need in `shared`.
"""

from __future__ import annotations

import ast
import difflib
import functools
import importlib
import pkgutil
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flashlearn.exercise import Exercise
from flashlearn.later import is_installed

_CELL = re.compile(r'^# %%.*\bexercise="(\w+)"', re.MULTILINE)


class UnknownExercise(LookupError):
    """No exercise has this name; the message names the closest ones."""

    def _render_traceback_(self) -> list[str]:
        """In Jupyter the sentence alone: a slip of the pen needs no stack."""
        return [str(self)]


class NotCheckedHere(UnknownExercise):
    """The exercise needs a package that is not installed here; the message names it."""


@dataclass(frozen=True)
class Listed:
    """What is known of an exercise that cannot be imported here: the package `missing` is not installed."""

    name: str
    lesson: str
    title: str
    missing: str


def all_exercises() -> dict[str, Exercise]:
    """Every exercise that can be checked here by name, in the order of the lessons and of their cells.

    Without torch and triton these are symbolic ones.
    """
    return {name: found for name, found in listed().items() if isinstance(found, Exercise)}


@functools.cache
def listed() -> dict[str, Exercise | Listed]:
    """Every exercise of the course by name, in order; `Listed` are those that cannot be checked here."""
    found: dict[str, Exercise | Listed] = {}
    for lesson in sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("lesson_")):
        folder = Path(__path__[0]) / lesson
        cells = _CELL.findall((folder / "notebook.py").read_text(encoding="utf-8"))
        declared = {
            value.name: value
            for name in sorted(_declaring(folder))
            for value in _exercises_of(folder / f"{name}.py")
        }
        without_cell = [name for name in declared if name not in cells]
        found |= {name: declared[name] for name in [*cells, *without_cell] if name in declared}
    return found


def _exercises_of(file: Path) -> list[Exercise | Listed]:
    """The exercises that a module declares; one that cannot be imported is listed by its text."""
    try:
        module = importlib.import_module(f"{__name__}.{file.parent.name}.{file.stem}")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "flashlearn" or is_installed(missing):
            raise
        text = file.read_text(encoding="utf-8")
        title = re.search(rf'^{file.stem} = .*?^    title=(".*?"),$', text, re.MULTILINE | re.DOTALL)
        number = file.parent.name.split("_")[1]
        return [Listed(file.stem, number, ast.literal_eval(title[1]) if title else "", missing)]
    return [value for value in vars(module).values() if isinstance(value, Exercise)]


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
    """The exercise called `name`. Raises UnknownExercise, naming the closest ones, and NotCheckedHere."""
    exercises = listed()
    if not isinstance(name, str) or name not in exercises:
        raise UnknownExercise(_unknown(name, exercises))
    found = exercises[name]
    if isinstance(found, Listed):
        raise NotCheckedHere(
            f"{name} cannot be checked here: it needs {found.missing}, which is not installed. "
            "Exercises in sympy can be checked without."
        )
    return found


def _unknown(name: object, exercises: Mapping[str, Exercise | Listed]) -> str:
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
