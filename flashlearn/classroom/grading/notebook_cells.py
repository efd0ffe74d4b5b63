"""The cells of a submission that are run for an exercise, and the suspicious uses in them."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass

from flashlearn.classroom.grading.statements import Statement, blanked, needed, statements, without_magics
from flashlearn.classroom.grading.suspicious_code import SuspiciousUse, suspicious_uses
from flashlearn.classroom.records import CodeCell, Submission
from flashlearn.classroom.sandbox.child import CellText
from flashlearn.course import packaged_lessons
from flashlearn.exercise import Exercise

MAGICS = (
    "Lines for the notebook or the shell (% and !) are not run when your work is graded; there are {count}."
)


@dataclass(frozen=True)
class Cell:
    """A cell without magics. `ours` marks the course's own cells, which the learner has not changed."""

    number: int
    text: str
    exercise: str
    ours: bool
    magics: int


class NotebookCells:
    """The cells of the notebook that answers an exercise, in order."""

    def __init__(self, cells: Sequence[Cell]):
        self.cells = tuple(cells)

    @functools.cached_property
    def texts(self) -> tuple[CellText, ...]:
        """Everything that the learner wrote, and what that needs of the course's cells."""
        parsed = {cell.number: _statements(cell) for cell in self.cells}
        written = {cell.number for cell in self.cells if not cell.ours}
        every = [one for cell in self.cells for one in parsed[cell.number]]
        chosen = {id(one) for one in needed(every, (), also=lambda one: one.cell in written)}
        made = []
        for cell in self.cells:
            if cell.number in written:
                made.append(CellText(cell.number, cell.text))
            else:  # one by one: an import that fails here stops no other
                of = [one for one in parsed[cell.number] if id(one) in chosen]
                made += [CellText(cell.number, blanked(cell.text, [one])) for one in of]
        return tuple(made)

    def position(self, name: str) -> int:
        """The number of the last cell that answers an exercise, or of the last cell if none is marked."""
        numbers = [cell.number for cell in self.cells if cell.exercise == name]
        return numbers[-1] if numbers else self.cells[-1].number if self.cells else -1

    def suspicious_uses(self, name: str) -> tuple[SuspiciousUse, ...]:
        """The suspicious uses in the learner's cells up to an exercise's."""
        until = self.position(name)
        return tuple(
            r
            for cell in self.cells
            if not cell.ours and cell.number <= until
            for r in suspicious_uses(cell.text)
        )

    def sliced(self, name: str) -> tuple[CellText, ...]:
        """The statements that an exercise's function needs, of the cells up to its own."""
        until = self.position(name)
        before = [cell for cell in self.cells if cell.number <= until]
        chosen = {id(one.node) for one in needed([s for c in before for s in _statements(c)], [name])}
        made = [(cell, [one for one in _statements(cell) if id(one.node) in chosen]) for cell in before]
        return tuple(CellText(cell.number, blanked(cell.text, of)) for cell, of in made if of)


@functools.lru_cache(maxsize=512)
def _statements(cell: Cell) -> list[Statement]:
    try:
        return statements(cell.text, cell.number)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def notebook_cells(submission: Submission, exercises: Sequence[Exercise]) -> dict[str, NotebookCells]:
    """By exercise, the cells of the notebook that answers it, or of all notebooks if none is marked."""
    course = frozenset().union(*(course_cells(lesson) for lesson in {one.lesson for one in exercises}))
    cells = [_cell(number, source, course) for number, source in enumerate(submission.cells, 1)]
    files = {source.exercise: source.file for source in submission.cells if source.exercise}
    grouped: dict[str, NotebookCells] = {}
    for exercise in exercises:
        file = files.get(exercise.name, "")
        of = [c for c, s in zip(cells, submission.cells, strict=True) if not file or s.file in ("", file)]
        known = (one for one in grouped.values() if one.cells == tuple(of))
        grouped[exercise.name] = next(known, None) or NotebookCells(of)
    return grouped


def _cell(number: int, source: CodeCell, course: frozenset[str]) -> Cell:
    text, magics = without_magics(source.text)
    return Cell(number, text, source.exercise, source.text.strip() in course, magics)


@functools.cache
def course_cells(lesson: str) -> frozenset[str]:
    """The code cells of a lesson as it was handed out, without those of exercises."""
    found: set[str] = set()
    for stem in packaged_lessons.sources():
        if stem.partition("_")[0] == lesson:
            cells = json.loads(packaged_lessons.notebook(stem, solved=False))["cells"]
            found |= {
                "".join(cell["source"]).strip()
                for cell in cells
                if cell["cell_type"] == "code" and not str(cell.get("id", "")).startswith("ex-")
            }
    return frozenset(found)
