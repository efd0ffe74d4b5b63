"""A place in the learner's code: in words, and as the marked line between its neighbours."""

from __future__ import annotations

import linecache
import textwrap
from dataclasses import dataclass
from pathlib import Path

from flashlearn.outcome import Place

CONTEXT = 2  # lines of source shown before and after the marked one
AUTHORING_MARKS = ("### BEGIN SOLUTION", "### END SOLUTION", "# STUB:")  # of no use to readers of the kernels


@dataclass(frozen=True)
class SourceLine:
    """A line of source with its number; `marked` if it is the one that the excerpt is about."""

    number: int
    text: str
    marked: bool


@dataclass(frozen=True)
class Excerpt:
    """The place in words, and the lines around it."""

    title: str
    lines: tuple[SourceLine, ...]

    @property
    def marked(self) -> SourceLine | None:
        """The line that the excerpt is about, if its text is known."""
        return next((line for line in self.lines if line.marked), None)


def excerpt(place: Place, context: int = CONTEXT) -> Excerpt:
    """The place in words, with up to `context` lines of source before and after."""
    title = f"Line {place.line}"
    if place.function:
        title += f" of {place.function}"
    if place.calls:
        title += f", called in line {place.calls[0]}"
    title += _in_file(place.file)
    if place.program is not None:
        title += f", program ({', '.join(map(str, place.program))})"
    return Excerpt(title, _lines(place, context))


def _lines(place: Place, context: int) -> tuple[SourceLine, ...]:
    lines = linecache.getlines(place.file)
    known = 0 < place.line <= len(lines)
    if not known or (place.text and lines[place.line - 1].strip() != place.text.strip()):
        return (SourceLine(place.line, place.text.strip(), True),) if place.text else ()
    plain = [n for n, line in enumerate(lines, 1) if not line.lstrip().startswith(AUTHORING_MARKS)]
    before, after = [n for n in plain if n < place.line], [n for n in plain if n > place.line]
    numbers = [*before[-context:], place.line, *after[:context]]
    text = textwrap.dedent("".join(lines[n - 1] for n in numbers)).expandtabs(4).split("\n")
    shown = [SourceLine(n, line.rstrip(), n == place.line) for n, line in zip(numbers, text, strict=False)]
    while shown and not shown[0].text and not shown[0].marked:
        shown.pop(0)
    while shown and not shown[-1].text and not shown[-1].marked:
        shown.pop()
    return tuple(shown)


def _in_file(file: str) -> str:
    if "ipykernel" in file or file.startswith("<ipython-input"):
        return " in your cell"
    return "" if not file or file.startswith("<") else f" in {Path(file).name}"
