"""The handout as data, and notebooks reduced to their cells.

>>> handout.parts()["02"].exercises[0].name
'softmax_jacobian'
"""

from __future__ import annotations

import codecs
import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flashlearn.classroom.records import Assignment
from flashlearn.course import installed_cell
from flashlearn.course.lesson_reader import EXERCISE_CELL

MANIFEST = "manifest.json"

LARGEST = 20_000_000
"""Bytes of a notebook: with pictures in it, a lesson has one or two million."""

MOST_CELLS = 2_000
"""Cells of a notebook: a lesson has about a hundred."""

_MERGING = re.compile(rb"^<{7} .*^={7}", re.MULTILINE | re.DOTALL)


class NotebookCell(NamedTuple):
    """A code cell of a notebook: its id, its text, and the exercise that its id names."""

    id: str
    text: str
    exercise: str = ""


@dataclass(frozen=True)
class Notebook:
    """A lesson's notebook as handed out: its code cells, of which the first has the imports."""

    file: str
    lesson: str
    cells: tuple[NotebookCell, ...]

    @property
    def stem(self) -> str:
        """The lesson's name: "02_softmax"."""
        return self.file.removesuffix(".ipynb")


@dataclass(frozen=True)
class Handout:
    """An assignment with its notebooks, and the exercises' titles."""

    assignment: Assignment
    notebooks: tuple[Notebook, ...]
    titles: Mapping[str, str] = field(default_factory=dict)

    def parts(self) -> dict[str, Assignment]:
        """By lesson, the assignment of its notebook: each notebook is graded by itself.

        Two notebooks of one student may use a name for different things, so they never share a process.
        """
        whole = self.assignment
        found = {}
        for notebook in self.notebooks:
            asked = tuple(one for one in whole.exercises if one.lesson == notebook.lesson)
            part = dataclasses.replace(whole, exercises=asked)
            found[notebook.lesson] = dataclasses.replace(part, key=key_of(part))
        return {lesson: part for lesson, part in found.items() if part.exercises}


class ParsedNotebook(NamedTuple):
    """A notebook: its code cells, the lesson that its metadata names, and the texts of its other cells."""

    code: tuple[tuple[str, str, str], ...]
    lesson: str
    prose: tuple[str, ...] = ()


def key_of(assignment: Assignment) -> str:
    """The hash of what a grade depends on: the exercises, the course's version, the secret."""
    facts = [[vars(one) for one in assignment.exercises], assignment.version, assignment.draws.hex()]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


@functools.lru_cache(maxsize=4)  # a notebook is read to find its lesson, and again to grade it
def read_cells(content: bytes) -> ParsedNotebook:
    """A notebook's code cells. Raises ValueError with a sentence for a student."""
    if len(content) > LARGEST:
        raise ValueError(
            f"The file is larger than the limit of {LARGEST // 1_000_000} MB. Clear its outputs, and "
            "hand it in again."
        )
    try:
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        notebook = json.loads(content.decode("utf-16" if wide else "utf-8-sig"))
    except (ValueError, RecursionError, MemoryError):
        if _MERGING.search(content):
            raise ValueError(
                "The file has git's merge markers (<<<<<<<) in it: resolve the conflict, open it in Jupyter, "
                "and hand it in again."
            ) from None
        raise ValueError(
            "The file is not a notebook: it is not in the format that Jupyter writes. It may be truncated."
        ) from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("The file is not a notebook of Jupyter 4 or later: it has no list of cells.")
    if len(cells) > MOST_CELLS:
        raise ValueError(f"The notebook has {len(cells)} cells, more than the limit of {MOST_CELLS}.")
    code = tuple(
        (_text(cell.get("id")), _source(cell), _mark(cell))
        for cell in cells
        if isinstance(cell, dict) and cell.get("cell_type") == "code"
        if _source(cell).strip() != installed_cell.TEXT
    )
    prose = tuple(
        _source(cell) for cell in cells if isinstance(cell, dict) and cell.get("cell_type") != "code"
    )
    return ParsedNotebook(code, _named(notebook, "flashlearn", "lesson"), prose)


def _source(cell: dict) -> str:
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return _text(source)


def _mark(cell: dict) -> str:
    """The exercise that a cell's id, or else its metadata, names."""
    identity = _text(cell.get("id"))
    if identity.startswith(EXERCISE_CELL):
        return identity.removeprefix(EXERCISE_CELL)
    return _named(cell, "exercise")


def _named(value: Any, *path: str) -> str:
    value = value.get("metadata")
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return _text(value)


def _text(value: Any) -> str:
    """Text that can be encoded, hashed and compiled: without lone surrogates and NUL."""
    if not isinstance(value, str):
        return ""
    return value.replace("\r\n", "\n").replace("\0", "�").encode("utf-8", "replace").decode()
