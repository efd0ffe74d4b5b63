"""A lesson's title and exercises, read from its notebook or its source without heavy imports.

    >>> read_notebook(Path("notebooks/02_softmax.ipynb"))
    Lesson(stem='02_softmax', title='Softmax and its Jacobian', exercises=('softmax_jacobian', ...))

Completion in a shell waits for this: no jupytext, no torch. Authoring reports errors in a source with line
numbers; here a source is assumed to be right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

EXERCISE_CELL = "ex-"
"""An exercise's cell has the id `ex-<name>`, in the lesson and in the learner's copy."""

SOURCE = "notebook.py"
"""A lesson's source, in the lesson's folder in the package."""

ABILITIES_HEADING = "**Afterwards you can**"
"""The line before the list of what a lesson teaches."""

LEVELS = ("warm-up", "core", "stretch")
"""The levels of an exercise, as in the heading above its cell: "### Exercise: `row_sum` · core"."""

HINTS = 3
"""How many hints an exercise has: the concept, the shape of the answer, nearly the line."""

_EXERCISE = re.compile(r'^# %%.*\bexercise="(\w+)"', re.MULTILINE)
_HINT = re.compile(r"# HINT:\s*(.*)$")
_HINT_CONTINUED = re.compile(r"#  +(\S.*)$")
_LEVEL = re.compile(rf"^#{{2,4}} .* · ({'|'.join(LEVELS)})$", re.MULTILINE)
_TITLE = re.compile(r"^# # (.+)$", re.MULTILINE)


class CourseError(Exception):
    """A problem with the course's files or with a name, in one sentence for the learner."""

    def _render_traceback_(self) -> list[str]:
        """In Jupyter the sentence alone."""
        return [str(self)]


@dataclass(frozen=True)
class Lesson:
    """One lesson: `stem` is "02_softmax", `exercises` in reading order, each one's level in `levels`."""

    stem: str
    title: str
    exercises: tuple[str, ...]
    levels: tuple[str, ...] = field(default=(), compare=False)

    @property
    def number(self) -> str:
        """The lesson's number as text: "02"."""
        return self.stem.split("_", 1)[0]

    def level(self, exercise: str) -> str:
        """One of LEVELS; "" if the lesson names none."""
        return dict(zip(self.exercises, self.levels, strict=False)).get(exercise, "")


def read_source(path: Path, stem: str) -> Lesson:
    """The lesson whose source, in percent format, is at `path`. Raises OSError."""
    text = path.read_text(encoding="utf-8")
    title = _TITLE.search(text)
    prose = re.sub(r"^# ", "", text, flags=re.MULTILINE)
    before = re.split(r'^%%.*\bexercise="\w+".*$', prose, flags=re.MULTILINE)
    exercises = tuple(_EXERCISE.findall(text))
    return Lesson(stem, title[1].strip() if title else stem, exercises, _levels(before[:-1]))


def read_hints(path: Path, exercise: str) -> tuple[str, ...]:
    """The hints of an exercise in the source at `path`; none where it has no cell there. Raises OSError."""
    _, marker, rest = path.read_text(encoding="utf-8").partition(f'exercise="{exercise}"')
    cell = rest.partition("\n# %%")[0]
    return split_hints(cell.splitlines())[0] if marker else ()


def split_hints(lines: Sequence[str]) -> tuple[tuple[str, ...], list[int]]:
    """The hints among the lines of a cell, and the indices of its other lines.

    A hint begins in a line `# HINT: text` and goes on in comment lines that are indented, `#     text`.
    """
    hints: list[str] = []
    others: list[int] = []
    continues = False
    for index, line in enumerate(lines):
        if match := _HINT.match(line):
            hints.append(match[1])
            continues = True
        elif continues and (match := _HINT_CONTINUED.match(line)):
            hints[-1] += f" {match[1]}"
        else:
            others.append(index)
            continues = False
    return tuple(hint.strip() for hint in hints), others


def read_notebook(path: Path) -> Lesson:
    """The lesson that a notebook is. Raises CourseError if it is none."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        exercises, title = exercise_cells(notebook), _title(notebook)
        levels = _levels(_prose_before_exercises(notebook))
    except (ValueError, AttributeError, OSError) as error:
        raise CourseError(
            f"{path} is damaged: `git checkout -- {path.name}` in its folder brings the lesson back."
        ) from error
    return Lesson(path.stem, title or path.stem, exercises, levels)


def exercise_cells(notebook: dict) -> tuple[str, ...]:
    """The exercises of a notebook (its JSON), by the ids of their cells."""
    ids = [str(cell.get("id", "")) for cell in notebook.get("cells", [])]
    return tuple(i.removeprefix(EXERCISE_CELL) for i in ids if i.startswith(EXERCISE_CELL))


def source_fingerprint(path: Path) -> str:
    """The fingerprint of the lesson's text that a notebook was made from; "" if it has none.

    Authoring writes it into the notebook's metadata, where editors leave it.
    """
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["metadata"]["flashlearn"]["built"])
    except (OSError, ValueError, KeyError, TypeError):  # not a notebook, or not one of the course's
        return ""


def _prose_before_exercises(notebook: dict) -> Iterable[str]:
    """For each exercise's cell, the Markdown between it and the previous one."""
    prose: list[str] = []
    for cell in notebook.get("cells", []):
        if str(cell.get("id", "")).startswith(EXERCISE_CELL):
            yield "\n".join(prose)
            prose = []
        elif cell.get("cell_type") == "markdown":
            prose.append("".join(cell.get("source", "")))


def _levels(before: Iterable[str]) -> tuple[str, ...]:
    """The level that the last heading before each exercise names, if one does."""
    return tuple((_LEVEL.findall(prose) or [""])[-1] for prose in before)


def _title(notebook: dict) -> str:
    for cell in notebook.get("cells", []):
        for line in "".join(cell.get("source", "")).splitlines():
            if cell.get("cell_type") == "markdown" and line.startswith("# "):
                return line.removeprefix("# ").strip()
    return ""


def abilities(source: Path) -> tuple[str, ...]:
    """What a lesson promises under "Afterwards you can", point by point, in Markdown with formulas."""
    try:
        text = re.sub(r"^# ?", "", source.read_text(encoding="utf-8"), flags=re.MULTILINE)
    except OSError:
        return ()
    _, _, promised = text.partition(f"{ABILITIES_HEADING}\n\n")
    points = promised.partition("\n\n")[0].removeprefix("- ").split("\n- ")
    return tuple(" ".join(point.split()).rstrip(".;") for point in points if point.strip())
