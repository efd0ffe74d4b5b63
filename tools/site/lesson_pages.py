"""The pages of the lessons: solved notebooks with their outputs, and each solution folded below its stub."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flashlearn.course import packaged_lessons
from flashlearn.course.hints import STEPS
from flashlearn.course.lesson_reader import EXERCISE_CELL, Lesson, read_hints, read_notebook
from tools.site.outputs import OutputsOfPage, Pictures
from tools.site.python_in_page import FOLDER

Cell = dict[str, Any]

LINKS = ("lessons-before", "lessons-after")
"""Cells that lead to other notebooks: a page has its own links."""

_MARKING = re.compile(r"^[ \t]*(### (BEGIN|END) SOLUTION|# STUB:.*)\n?", re.MULTILINE)
_TELLING = "### BEGIN SOLUTION"
_HINT = re.compile(r"# flashlearn\.hint\(.*\)")
_CHECK = re.compile(r'flashlearn\.check\("(\w+)", \1\)')
_HEADING = re.compile(r"^#{2,4} .*$", re.MULTILINE)
_LAST_SENTENCE = re.compile(r"(?:(?<=[.?!])|(?<=\n\n))\s*(?:(?![.?!]\s|\n\n).)*:\s*\Z", re.DOTALL)
_NUMBERS = re.compile(r"\b(\d\d)\b(?: to (\d\d)\b)?")


@dataclass(frozen=True)
class Solvable:
    """The exercises that can be solved in the page, and how much a browser loads for it: "20 MB"."""

    names: frozenset[str]
    size: str

    def is_check(self, text: str) -> bool:
        """Whether a cell checks one of them, and does nothing else."""
        checked = _CHECK.fullmatch(text.strip())
        return checked is not None and checked[1] in self.names

    def place(self, name: str, stub: str) -> str:
        """The stub, with what its script needs to put an editor there (in_page/solve.js)."""
        opening = f'<div class="solve" data-exercise="{name}" data-size="{self.size}" data-limit="60">'
        script = f'<script type="module" src="../_static/{FOLDER}/solve.js"></script>'
        return f"{opening}\n\n{stub}\n\n</div>\n{script}"


@dataclass(frozen=True)
class LessonPage:
    """A lesson's two notebooks. `stem` is "06_flash_forward"; the page is lessons/06_flash_forward.html."""

    lesson: Lesson
    solved: dict[str, Any]
    stubs: dict[str, str] = field(repr=False)

    @property
    def stem(self) -> str:
        """The page's name."""
        return self.lesson.stem

    @property
    def introduction(self) -> str:
        """The cell with the title, what is learned, what is needed, how long it takes."""
        return next(text for cell in self.solved["cells"] if (text := source(cell)).startswith("# "))

    @property
    def duration(self) -> str:
        """How long it takes: "about two hours"."""
        found = re.search(r"\*\*It takes\*\*\s+(.+?)(?=[:;.]|, (?:in|best)\b)", self.introduction, re.DOTALL)
        return " ".join(found[1].split()) if found else ""

    @property
    def needs(self) -> list[str]:
        """The numbers of earlier lessons that it builds on."""
        found = re.search(r"\*\*You need\*\*(.+?)(?=\n\n|\Z)", self.introduction, re.DOTALL)
        numbers: set[int] = set()
        for first, last in _NUMBERS.findall(found[1] if found else ""):
            numbers |= set(range(int(first), int(last or first) + 1))
        return [f"{number:02}" for number in sorted(numbers) if number < int(self.lesson.number)]


def read(root: Path) -> list[LessonPage]:
    """Every lesson of the clone at `root`, in order."""
    return [
        _read(root / "notebooks" / path.name, path) for path in sorted((root / "solutions").glob("[0-9]*"))
    ]


def _read(learner: Path, solved: Path) -> LessonPage:
    cells = json.loads(learner.read_text(encoding="utf-8"))["cells"]
    stubs = {str(cell.get("id")): source(cell) for cell in cells}
    return LessonPage(read_notebook(solved), json.loads(solved.read_text(encoding="utf-8")), stubs)


def source(cell: Cell) -> str:
    """A cell's text."""
    return "".join(cell["source"])


def anchor(exercise: str) -> str:
    """The id of an exercise's heading, in its lesson's page."""
    return f"ex-{exercise.replace('_', '-')}"


def notebook(
    page: LessonPage, every: list[LessonPage], pictures: Pictures, solvable: Solvable | None = None
) -> dict[str, Any]:
    """The page as a notebook for MyST-NB, which is not executed."""
    outputs = OutputsOfPage(pictures, "../_static/pictures/")
    cells = _without_those_for_editors([cell for cell in page.solved["cells"] if cell["id"] not in LINKS])
    made: list[Cell] = []
    for cell in cells:
        if cell["id"].startswith(EXERCISE_CELL):
            _name_heading(made, cell["id"].removeprefix(EXERCISE_CELL))
        made += _cells(cell, page, outputs, solvable)
    title, _, rest = source(made[0]).partition("\n")
    numbered = title.replace("# ", f"# {page.lesson.number} · ", 1)
    made[0] = _markdown(f"{numbered}\n\n{_facts(page, every)}\n\n{rest}", made[0]["id"])
    return {**page.solved, "cells": made}


def _without_those_for_editors(cells: list[Cell]) -> list[Cell]:
    """The cells that a page has; a last sentence that leads to one that it lacks ("… and run:") goes, too."""
    kept: list[Cell] = []
    for cell in cells:
        if not _is_for_editors(cell):
            kept.append(cell)
        elif kept and kept[-1]["cell_type"] == "markdown" and source(kept[-1]).rstrip().endswith(":"):
            kept[-1] = _markdown(_LAST_SENTENCE.sub("", source(kept[-1])), kept[-1]["id"])
    return kept


def _is_for_editors(cell: Cell) -> bool:
    """Whether a cell makes sense only where it can be edited: hints to uncomment, the journal."""
    text = source(cell).strip()
    journal = cell["cell_type"] == "markdown" and text.startswith("### Journal")
    return journal or all(_HINT.fullmatch(line) for line in text.splitlines())


def _cells(cell: Cell, page: LessonPage, outputs: OutputsOfPage, solvable: Solvable | None) -> list[Cell]:
    """What the page has in place of a cell."""
    if cell["cell_type"] == "markdown":
        return [_markdown(source(cell), cell["id"])]
    cell = {**cell, "outputs": [outputs.lighter(output) for output in cell["outputs"]]}
    if cell["id"].startswith(EXERCISE_CELL):
        return [_exercise(cell, page, solvable)]
    if solvable and solvable.is_check(source(cell)):
        shown = "".join(_html(output) for output in cell["outputs"])
        return [_markdown(_folded("Show the report of the solution", _raw(shown)), cell["id"])]
    if "recall" in cell["metadata"].get("tags", ()):
        shown = "".join(_html(output) for output in cell["outputs"])
        return [_markdown(_folded("Show the questions with their answers", _raw(shown)), cell["id"])]
    if not cell["outputs"] and source(cell).startswith(("import ", "from ")):
        return [_markdown(_folded("The imports of this notebook", _code(source(cell))), cell["id"])]
    return _without_solutions(cell)


def _without_solutions(cell: Cell) -> list[Cell]:
    """The cell; outputs that list an exercise's solution, as its trace does, are folded below it."""
    telling = [o for o in cell["outputs"] if _TELLING in _html(o)]
    if not telling:
        return [cell]
    shown = {**cell, "outputs": [o for o in cell["outputs"] if o not in telling]}
    pages = "\n\n".join(_raw(output["data"]["text/html"]) for output in telling)
    return [
        shown,
        _markdown(_folded("Show the output, with lines of the solution", pages), f"{cell['id']}-folded"),
    ]


def _exercise(cell: Cell, page: LessonPage, solvable: Solvable | None) -> Cell:
    """The learner's stub, and the solution, folded; where it can be solved in the page, hints before it."""
    name = cell["id"].removeprefix(EXERCISE_CELL)
    stub = _code(page.stubs[cell["id"]])
    if solvable and name in solvable.names:
        stub = f"{solvable.place(name, stub)}\n\n{_hints(name, page)}"
    solution = _MARKING.sub("", source(cell))
    return _markdown(
        f"{stub}\n\n{_folded('Show the solution', _code(solution), f'solution-{name}')}", cell["id"]
    )


def _hints(name: str, page: LessonPage) -> str:
    """An exercise's hints, each folded."""
    hints = read_hints(packaged_lessons.sources()[page.stem], name)
    folded = (
        _folded(f"Hint {number} of {len(hints)}: {step}", hint)
        for number, (step, hint) in enumerate(zip(STEPS, hints, strict=True), 1)
    )
    return "\n\n".join([f'<div class="hints" data-exercise="{name}">', *folded, "</div>"])


def _name_heading(before: list[Cell], name: str) -> None:
    """Give the last heading before an exercise its anchor."""
    for index in range(len(before) - 1, -1, -1):
        text = source(before[index])
        headings = list(_HEADING.finditer(text)) if before[index]["cell_type"] == "markdown" else []
        if headings:
            at = headings[-1].start()
            before[index]["source"] = f"{text[:at]}({anchor(name)})=\n{text[at:]}"
            return


def _facts(page: LessonPage, every: list[LessonPage]) -> str:
    """The lesson in a few lines: how long, what comes before, its exercises, its notebook."""
    known = {one.lesson.number: one for one in every}
    needs = [
        f'<a href="{known[number].stem}.html">{number} {html.escape(known[number].lesson.title)}</a>'
        for number in page.needs
    ]
    exercises = [
        f'<a href="#{anchor(name)}"><code>{name}</code></a> ({page.lesson.level(name)})'
        for name in page.lesson.exercises
    ]
    built = page.solved["metadata"]["flashlearn"]
    device = "a CPU" if built["device"] == "CPU" else f"an {built['device']}"
    rows = {
        "Duration": page.duration,
        "Builds on": ", ".join(needs) or "nothing before it",
        "Exercises": ", ".join(exercises),
        "Notebook": f'<a href="../_static/notebooks/{page.stem}.ipynb" download>{page.stem}.ipynb</a>, '
        "with stubs instead of solutions",
        "Outputs": f"computed on {device}, torch {built['torch']}, triton {built['triton']}",
    }
    lines = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows.items())
    return f'<dl class="facts">{lines}</dl>'


def _html(output: dict[str, Any]) -> str:
    """An output as HTML; empty if it has none."""
    return "".join(output.get("data", {}).get("text/html", ""))


def _markdown(text: str, identity: str) -> Cell:
    return {"cell_type": "markdown", "id": identity, "metadata": {}, "source": text}


def _code(text: str) -> str:
    return f"```python\n{text.rstrip()}\n```"


def _raw(page: str) -> str:
    return f"```{{raw}} html\n{page}\n```"


def _folded(summary: str, content: str, identity: str = "") -> str:
    named = f' id="{identity}"' if identity else ""
    return f'<details class="folded"{named}><summary>{summary}</summary>\n\n{content}\n\n</details>'
