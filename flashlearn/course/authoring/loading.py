"""Load functions from lessons without a Jupyter kernel, for tests, `flashlearn check` and the classroom.

>>> load_exercise("flashlearn/lessons/lesson_00_tour/notebook.py", "row_sum")    # the solution
>>> load_exercise("notebooks/00_tour.ipynb", "row_sum")         # the stub
"""

from __future__ import annotations

import difflib
import linecache
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashlearn.course.authoring import notebook
from flashlearn.course.authoring.regions import SourceError, without_magics
from flashlearn.course.authoring.source import lesson_name, read_lesson
from flashlearn.course.files import EXERCISE_CELL, CourseError


@dataclass(frozen=True)
class _Code:
    source: str
    exercise: str


def exercise_cells(path: Path | str) -> dict[str, str]:
    """Sources of the exercises' cells by name: solved from a .py, as they stand from a notebook."""
    return {cell.exercise: cell.source for cell in _code_cells(Path(path)) if cell.exercise}


def load_exercise(path: Path | str, name: str) -> Callable[..., Any]:
    """Run the first code cell and the exercise's own; return the function that is named as the exercise.

    Its source can be inspected, and a kernel among it compiled, as in Jupyter. Raises CourseError if
    the file has no such cell or the cell defines no such function, and any exception of the cells.
    """
    path = Path(path)
    cells = _code_cells(path)
    own = [cell for cell in cells if cell.exercise == name]
    if not own:
        known = [cell.exercise for cell in cells if cell.exercise]
        near = difflib.get_close_matches(name, known, 1)
        advice = f"did you mean {near[0]}?" if near else f"it has {', '.join(known) or 'no exercises'}"
        raise CourseError(f"{path.name} has no cell for {name}: {advice}")
    lesson = lesson_name(path) if path.suffix == ".py" else path.stem
    module = types.ModuleType(f"flashlearn_lesson_{lesson}_{name}")
    sys.modules[module.__name__] = module
    for label, cell in {"first cell": cells[0], f"ex-{name}": own[-1]}.items():
        _run(cell.source, f"<{lesson}{path.suffix} {label}>", module)
    function = vars(module).get(name)
    if not callable(function):
        raise CourseError(
            f"the cell of {name} in {path.name} defines no function {name}: its name must be the exercise's"
        )
    return function


def _run(source: str, filename: str, module: types.ModuleType) -> None:
    """Execute as Jupyter would; triton reads a kernel's source from linecache."""
    text = without_magics(source) + "\n"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec", dont_inherit=True), vars(module))


def _code_cells(path: Path) -> list[_Code]:
    if path.suffix == ".py":
        lesson = read_lesson(path.resolve(), path.resolve().parents[3])
        if lesson.problems:
            raise SourceError(lesson.problems)
        return [_Code(cell.solved, cell.exercise) for cell in lesson.cells if cell.kind == "code"]
    found = notebook.read(path)
    if found is None:
        raise CourseError(f"there is no notebook {path}")
    return [
        _Code(cell.source, cell.metadata.get("exercise") or _from_id(cell.get("id", "")))
        for cell in found.cells
        if cell.cell_type == "code"
    ]


def _from_id(identity: str) -> str:
    return identity.removeprefix(EXERCISE_CELL) if identity.startswith(EXERCISE_CELL) else ""
