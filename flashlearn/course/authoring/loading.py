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

from flashlearn.course import installed_cell
from flashlearn.course.authoring import notebook
from flashlearn.course.authoring.regions import SourceError, without_magics
from flashlearn.course.authoring.source import lesson_name, read_lesson
from flashlearn.course.files import CourseError
from flashlearn.course.marked_cells import answering, mark


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
    cells = _code_cells(path, name)
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


def _code_cells(path: Path, wanted: str = "") -> list[_Code]:
    """A file's code cells; of a notebook, `wanted` is also found by its function, where ids are gone."""
    if path.suffix == ".py":
        lesson = read_lesson(path.resolve(), path.resolve().parents[3])
        if lesson.problems:
            raise SourceError(lesson.problems)
        return [_Code(cell.solved, cell.exercise) for cell in lesson.cells if cell.kind == "code"]
    found = notebook.read(path)
    if found is None:
        raise CourseError(f"there is no notebook {path}")
    code = [c for c in found.cells if c.cell_type == "code" and c.source.strip() != installed_cell.TEXT]
    at = answering(code, [wanted]).get(wanted) if wanted else None
    return [_Code(c.source, wanted if i == at else mark(c)) for i, c in enumerate(code)]
