"""Which cell of a learner's notebook answers which exercise, whatever editor saved it.

    >>> answering(notebook["cells"], ["row_sum", "scaled_add"])
    {'row_sum': 4, 'scaled_add': 9}

A lesson's own cell has the id `ex-<name>` and the name in its metadata. JupyterLab and VS Code keep both, but
a cell that was pasted or retyped, or saved by an editor of notebooks without ids, has one or none of them.
Then the function tells: the exercise's cell is the last one that defines it at the top level.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flashlearn.course.lesson_reader import EXERCISE_CELL

Cell = Mapping[str, Any]


def mark(cell: Cell) -> str:
    """The exercise that a cell's id names, or else its metadata; "" for every other cell."""
    identity = str(cell.get("id", ""))
    if identity.startswith(EXERCISE_CELL):
        return identity.removeprefix(EXERCISE_CELL)
    metadata = cell.get("metadata")
    name = metadata.get("exercise", "") if isinstance(metadata, Mapping) else ""
    return name if isinstance(name, str) else ""


def defines(cell: Cell, name: str) -> bool:
    """Whether a cell's text defines a function of this name at its top level, even if it does not parse."""
    return re.search(rf"^(?:async +)?def +{re.escape(name)}\b", text(cell), re.MULTILINE) is not None


def answering(cells: Sequence[Cell], exercises: Iterable[str]) -> dict[str, int]:
    """The index of each exercise's cell, in the order of the cells; exercises without one are left out.

    A cell's id counts most, then its metadata, then the function that it defines.
    """
    code = [index for index, cell in enumerate(cells) if cell.get("cell_type") == "code"]
    found = {name: _cell_of(name, cells, code) for name in exercises}
    return dict(sorted(((n, at) for n, at in found.items() if at is not None), key=lambda pair: pair[1]))


def text(cell: Cell) -> str:
    """A cell's source as one text: files have it as a list of lines or as a string."""
    source = cell.get("source", "")
    return "".join(source) if isinstance(source, list) else str(source)


def _cell_of(name: str, cells: Sequence[Cell], code: Sequence[int]) -> int | None:
    by_id = (i for i in code if cells[i].get("id") == f"{EXERCISE_CELL}{name}")
    by_mark = (i for i in code if mark(cells[i]) == name)
    by_function = (i for i in reversed(code) if not mark(cells[i]) and defines(cells[i], name))
    return next((i for found in (by_id, by_mark, by_function) for i in found), None)
