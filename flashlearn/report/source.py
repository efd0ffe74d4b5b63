"""A place in the learner's code: in words, and as the marked line between its neighbours."""

from __future__ import annotations

import linecache
import textwrap
from dataclasses import dataclass
from pathlib import Path

from flashlearn.outcome import Place

AROUND = 2  # lines of source shown before and after the marked one
AUTHORS = ("### BEGIN SOLUTION", "### END SOLUTION", "# STUB:")  # of no use to who reads the course's kernels


@dataclass(frozen=True)
class SourceLine:
    number: int
    text: str
    marked: bool


@dataclass(frozen=True)
class Where:
    """Where it happened: a title in words, and the lines around."""

    title: str
    lines: tuple[SourceLine, ...]


def where(place: Place, around: int = AROUND) -> Where:
    """The place in words, with up to `around` lines of source before and after."""
    title = f"Line {place.line}"
    if place.function:
        title += f" of {place.function}"
    title += _file_words(place.file)
    if place.program is not None:
        title += f", program ({', '.join(map(str, place.program))})"
    return Where(title, _excerpt(place, around))


def _excerpt(place: Place, around: int) -> tuple[SourceLine, ...]:
    lines = linecache.getlines(place.file)
    known = 0 < place.line <= len(lines)
    if not known or (place.text and lines[place.line - 1].strip() != place.text.strip()):
        return (SourceLine(place.line, place.text.strip(), True),) if place.text else ()
    plain = [n for n, line in enumerate(lines, 1) if not line.lstrip().startswith(AUTHORS)]
    before, after = [n for n in plain if n < place.line], [n for n in plain if n > place.line]
    numbers = [*before[-around:], place.line, *after[:around]]
    text = textwrap.dedent("".join(lines[n - 1] for n in numbers)).expandtabs(4).split("\n")
    shown = [SourceLine(n, line.rstrip(), n == place.line) for n, line in zip(numbers, text, strict=False)]
    while shown and not shown[0].text and not shown[0].marked:
        shown.pop(0)
    while shown and not shown[-1].text and not shown[-1].marked:
        shown.pop()
    return tuple(shown)


def _file_words(file: str) -> str:
    if "ipykernel" in file or file.startswith("<ipython-input"):
        return " in your cell"
    return "" if not file or file.startswith("<") else f" in {Path(file).name}"
