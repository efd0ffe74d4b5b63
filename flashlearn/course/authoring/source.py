"""A lesson's one source, `lesson_NN_title/notebook.py`, read into cells for both notebooks.

    # %% exercise="row_sum"                      a cell whose id becomes ex-row_sum
    # HINT: One program per row.                 three of them; a hint goes on in lines that are
    #     indented like this one
    def row_sum(x):
        ### BEGIN SOLUTION
        # STUB: raise NotImplementedError("TODO row_sum: …")
        return x.sum(dim=1)
        ### END SOLUTION

The learner's notebook gets the STUB lines instead of the region; the solved one keeps the region
with its markers. A line `# INCLUDE: flashlearn/kernels/tour.py:row_sum_kernel` is replaced by that
function's source, decorators included; outside an exercise's cell it is shown finished, without markers.
HINT lines are in neither notebook: `flashlearn.hint` reads them from the source. The exercises' headings,
`### Exercise: ...`, are numbered in the order of the source if there are several.

A cell with the tag "recall", questions about earlier lessons, or "prediction", numbers that a learner types
before a measurement, may have a region too: the solved notebook has the author's, without markers.

The first cell and the last are not in the source: they link to the lessons before and after.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import jupytext

from flashlearn.course import lesson_links
from flashlearn.course.authoring import regions
from flashlearn.course.authoring.regions import Line, Problem, text_of

MARKER = re.compile(r"\s*#\s*%%%*(\s|$)")
HEADER_FENCE = re.compile(r"#\s*---\s*$")
FOR_TOOLS = re.compile(r"\s+# (fmt: skip|noqa(: [A-Z0-9, ]+)?)$")  # for tools, not for readers
RECALL = "recall"
WITH_REGION = {RECALL, "prediction"}  # tags of cells that are open without being an exercise
NOT_OURS = ("id", "lines_to_next_cell", "title", "cell_depth")  # what jupytext adds for its own round trip


@dataclass(frozen=True)
class Cell:
    """One cell of both notebooks: `stub` is the learner's source, `lines` are the solved one's."""

    kind: str
    id: str
    metadata: dict
    lines: tuple[Line, ...]
    stub: str
    place: Line
    exercise: str = ""
    hints: tuple[str, ...] = ()

    @property
    def solved(self) -> str:
        return text_of(self.lines)


@dataclass(frozen=True)
class LessonSource:
    """A lesson's source after parsing. With `problems` it must not be built."""

    path: Path
    root: Path
    cells: tuple[Cell, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        """`02_softmax`; the lesson's number is what stands before the underscore."""
        return lesson_name(self.path)

    @property
    def exercises(self) -> dict[str, Cell]:
        return {cell.exercise: cell for cell in self.cells if cell.exercise}


@dataclass
class _Raw:
    kind: str
    metadata: dict
    place: Line
    lines: list[Line] = field(default_factory=list)


def lesson_name(path: Path) -> str:
    """`02_softmax` for …/lesson_02_softmax/notebook.py."""
    return path.parent.name.removeprefix("lesson_")


def read_lesson(path: Path, root: Path) -> LessonSource:
    """Read a source; everything wrong with it is in `problems`, nothing is raised but OSError."""
    problems: list[Problem] = []
    seen: Counter[str] = Counter()
    raw_cells = _split(path, root, problems)
    _number_exercises(raw_cells, problems)
    cells = [_finish(raw, root, seen, problems) for raw in raw_cells]
    first: dict[str, Cell] = {}
    for cell in cells:
        if cell.exercise and cell.exercise in first:
            before = first[cell.exercise].place.number
            problems.append(
                cell.place.problem(f"a second cell for {cell.exercise}: the first is at line {before}")
            )
        first.setdefault(cell.exercise, cell)
    if cells:
        cells = [_linking(path, "before", cells[0].place), *cells, _linking(path, "after", cells[-1].place)]
    return LessonSource(
        path, root, tuple(cells), tuple(sorted(set(problems), key=lambda p: (p.file, p.line)))
    )


def _split(path: Path, root: Path, problems: list[Problem]) -> list[_Raw]:
    """Cells as jupytext sees them, with line numbers, which jupytext does not keep."""
    file = str(path.relative_to(root))
    text = path.read_text(encoding="utf-8").splitlines()
    start = _after_header(text)
    while start < len(text) and not text[start].strip():
        start += 1
    if start == len(text) or not MARKER.match(text[start]):
        problems.append(
            Problem(file, min(start + 1, len(text)), "text before the first cell: begin with `# %%`")
        )
        return []
    notebook = jupytext.reads("\n".join(text[start:]) + "\n", fmt="py:percent")
    cells, at = [], start
    for parsed in notebook.cells:
        at = next(i for i in range(at, len(text)) if MARKER.match(text[i]))
        place = Line(text[at], file, at + 1)
        source = parsed.source.split("\n") if parsed.source else []
        kept = parsed.cell_type == "code"
        lines = [
            Line(_magic_or_as_written(s, text[at + 1 + i]) if kept else s, file, at + 2 + i)
            for i, s in enumerate(source)
        ]
        metadata = {key: value for key, value in parsed.metadata.items() if key not in NOT_OURS}
        if wrong := metadata.pop("incorrectly_encoded_metadata", None):
            problems.append(
                place.problem(f'cannot read `{wrong}`: write key="value", as in exercise="row_sum"')
            )
        while lines and not lines[-1].text.strip():
            lines.pop()
        cells.append(_Raw(parsed.cell_type, metadata, place, lines))
        at += 1 + len(source)
    return cells


def _after_header(text: list[str]) -> int:
    """Index after jupytext's YAML header; it is ignored, since build writes its own."""
    if not text or not HEADER_FENCE.match(text[0]):
        return 0
    return next((i + 1 for i, line in enumerate(text[1:], 1) if HEADER_FENCE.match(line)), 0)


def _magic_or_as_written(parsed: str, written: str) -> str:
    """jupytext reads the comment `# cat the rows` as a shell command; here only % and ! are magics."""
    return parsed if parsed == written or parsed.lstrip().startswith(("%", "!")) else written


def _number_exercises(cells: list[_Raw], problems: list[Problem]) -> None:
    """Number the headings of the exercises from 1, in the order of the source; not if there is only one."""
    prose = [cell for cell in cells if cell.kind == "markdown"]
    headings = [line for cell in prose for line in cell.lines if regions.HEADING.match(line.text)]
    written = [line for line in headings if regions.HEADING.match(line.text)[2]]
    problems += [line.problem("exercises are numbered by build: write `### Exercise: …`") for line in written]
    if len(headings) < 2:
        return
    number = 1
    for cell in prose:
        for index, line in enumerate(cell.lines):
            if match := regions.HEADING.match(line.text):
                cell.lines[index] = replace(line, text=f"{match[1]} {number}{match[3]}")
                number += 1


def _finish(raw: _Raw, root: Path, seen: Counter[str], problems: list[Problem]) -> Cell:
    """Expand INCLUDE lines, separate stub and solution, check, and name one cell."""
    exercise = raw.metadata.get("exercise", "")
    is_open = not WITH_REGION.isdisjoint(raw.metadata.get("tags", ()))
    lines, stub, hints = raw.lines, text_of(raw.lines), ()
    if raw.kind == "code":
        hints, lines = regions.hints_of(raw.place, exercise, raw.lines, problems)
        lines = [line for one in lines for line in regions.expand(one, root, problems)]
        lines = [replace(line, text=FOR_TOOLS.sub("", line.text)) for line in lines]
        if not exercise:
            lines = [line for line in lines if not (line.included and regions.is_marking(line.text))]
        known = len(problems)
        stub_lines, begins = regions.stub_of(lines, problems)
        stub = "\n".join(stub_lines)
        if exercise and len(problems) == known:  # with a marker wrong, the stub is not what is meant
            regions.check_exercise(raw.place, exercise, lines, stub, begins, problems)
        elif is_open:
            lines = [line for line in lines if not regions.is_marking(line.text)]
        elif not exercise:
            problems += [b.problem("a solution region outside an exercise's cell") for b in begins]
    elif exercise:
        problems.append(raw.place.problem(f"{exercise} is a {raw.kind} cell: an exercise's cell is code"))
    return Cell(
        kind=raw.kind,
        id=f"ex-{exercise}" if exercise else _hash_id(raw.kind, text_of(lines), seen),
        metadata=raw.metadata,
        lines=tuple(lines),
        stub=stub,
        place=raw.place,
        exercise=exercise,
        hints=hints,
    )


def _linking(path: Path, where: str, place: Line) -> Cell:
    """The cell that links to other lessons; its place is that of the source's cell beside it."""
    lines = (replace(place, text=lesson_links.links(path)),)
    return Cell("markdown", f"lessons-{where}", {}, lines, text_of(lines), place)


def _hash_id(kind: str, source: str, seen: Counter[str]) -> str:
    """An id from the content alone: a cell that is inserted elsewhere does not change it."""
    digest = hashlib.sha256(f"{kind}\n{source}".encode()).hexdigest()[:12]
    seen[digest] += 1
    return digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
