"""A class for tests: a handout of two small lessons, and notebooks that students hand in."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from flashlearn.classroom.handout import Handout, Notebook, NotebookCell, key_of
from flashlearn.classroom.records import AssignedExercise, Assignment

SETUP = "import math"
STUB = 'def {name}(x):\n    raise NotImplementedError("TODO {name}: return x")'
CHECK = 'flashlearn.check("{name}", {name})'
LESSONS = {"00_first": ("one", "two"), "01_second": ("three",)}


def cells_of(stem: str) -> list[NotebookCell]:
    """A lesson: imports, a cell that shows something, a helper, and each exercise with its check."""
    cells = [
        NotebookCell("setup", SETUP),
        NotebookCell("shows", "shown = math.pi\nshown"),
        NotebookCell("helps", "half = 0.5"),
    ]
    for name in LESSONS[stem]:
        cells.append(NotebookCell(f"ex-{name}", STUB.format(name=name), name))
        cells.append(NotebookCell(f"check-{name}", CHECK.format(name=name)))
    return cells


def handout(rule: str = "all", draws: bytes = b"", name: str = "Week 1") -> Handout:
    """What is handed out: `one`, `two` and `three`, 2 points each."""
    notebooks = tuple(Notebook(f"{stem}.ipynb", stem[:2], tuple(cells_of(stem))) for stem in LESSONS)
    asked = tuple(AssignedExercise(e, stem[:2], 2, rule) for stem, names in LESSONS.items() for e in names)
    assignment = Assignment(name, asked, "1", draws)
    assignment = Assignment(name, asked, "1", draws, key_of(assignment))
    return Handout(assignment, notebooks, {one.name: f"The exercise {one.name}" for one in asked})


def answer(name: str, mark: str = "pass") -> str:
    """An answer that the grader of tests gives this verdict."""
    return f"def {name}(x):\n    return x  # mark: {mark}"


def work(stem: str, **marks: str) -> list[NotebookCell]:
    """A lesson's cells with some exercises answered: `work("00_first", one="pass")`."""
    return [
        cell._replace(text=answer(cell.exercise, marks[cell.exercise])) if cell.exercise in marks else cell
        for cell in cells_of(stem)
    ]


def notebook(cells: Iterable[NotebookCell], stem: str = "") -> bytes:
    """The cells as a notebook's file; with `stem`, its metadata names the lesson."""
    made = [
        {
            "cell_type": "code",
            "id": c.id,
            "metadata": {},
            "source": c.text,
            "outputs": [],
            "execution_count": 1,
        }
        for c in cells
    ]
    metadata = {"flashlearn": {"lesson": stem}} if stem else {}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}).encode()


def hand_in(folder: Path, student: str, stem: str = "00_first", **marks: str) -> Path:
    """Write one student's notebook below `folder`."""
    path = folder / student / f"{stem}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(notebook(work(stem, **marks), stem))
    return path
