"""What a program touched, step by step: plain data, from a recording."""

from __future__ import annotations

import inspect
import linecache
import textwrap
from dataclasses import dataclass
from pathlib import Path

from flashlearn.interpreter.observers.access_recorder import AccessRecord, LaunchRecord, ProgramRecord
from flashlearn.outcome import Place
from flashlearn.tracing.geometry import Range, Tile, tile

PACKAGE = Path(__file__).parents[1]
WITHHELD = "(part of an exercise)"


@dataclass(frozen=True)
class Step:
    """One load, store or atomic of the program. `line` is 0 where it is not known.

    `tile` has a range of indices per dimension of the tensor, None if every lane is masked out. `new` are
    the bytes that the program had not read (or written, or updated) before; `requested` minus `new` is
    requested again. There are several `tensors` where they share memory: then any of them may be meant.
    """

    number: int
    tensors: tuple[str, ...]
    verb: str
    tile: Tile | None
    shape: tuple[int, ...]
    lanes: int
    masked: int
    requested: int
    new: int
    function: str = ""
    line: int = 0
    text: str = ""

    @property
    def tensor(self) -> str:
        """Its name: «x_ptr or y_ptr» where either may be meant."""
        return " or ".join(self.tensors)

    @property
    def again(self) -> int:
        """Bytes that this program had asked for before, or that two lanes of the access ask for."""
        return self.requested - self.new

    @property
    def where(self) -> str:
        """The elements as one would index them: `k_ptr[0, 1, 32:64, 0:16]`."""
        if self.tile is None:
            return f"{self.tensor}: nothing"
        return f"{self.tensor}[{', '.join(_index(span) for span in self.tile.touched)}]"


@dataclass(frozen=True)
class Source:
    """A kernel's text: `lines` from `first` on, without its decorators; None for a line that is withheld."""

    function: str
    first: int
    lines: tuple[str | None, ...]


@dataclass(frozen=True)
class Steps:
    """The steps of one program, and the sources of the kernel and the helpers that its lines are in."""

    steps: tuple[Step, ...]
    sources: tuple[Source, ...]


def steps_of(run: ProgramRecord, launch: LaunchRecord) -> Steps:
    """The steps of a program that was recorded. The course's own solutions to exercises are not shown."""
    book = _Sources(launch)
    steps = tuple(_step(number, event, book) for number, event in enumerate(run.events, start=1))
    return Steps(steps, tuple(s for s in book.found.values() if s is not None))


def _step(number: int, event: AccessRecord, book: _Sources) -> Step:
    place = event.place
    return Step(
        number,
        event.tensors,
        event.verb,
        tile(event.view, event.addresses, event.lanes, event.index, event.itemsize),
        event.view.shape,
        event.index.size + event.masked,
        event.masked,
        event.index.size * event.itemsize,
        event.new,
        place.function if place is not None else "",
        place.line if place is not None else 0,
        book.text(place) if place is not None else "",
    )


def _index(span: Range) -> str:
    low, high = span
    return f"{low}:{high}" if high - low > 1 else str(low)


class _Sources:
    """The texts of the functions that a program ran, each read once."""

    def __init__(self, launch: LaunchRecord):
        self.found: dict[tuple[str, str], Source | None] = {}
        self._read(launch.file, launch.kernel, launch.line)

    def text(self, place: Place) -> str:
        key = (place.file, place.function)
        if key not in self.found:
            self._read(place.file, place.function, _definition(place))
        source = self.found[key]
        if source is None or not 0 <= place.line - source.first < len(source.lines):
            return place.text.strip()
        text = source.lines[place.line - source.first]
        return text.strip() if text is not None else WITHHELD

    def _read(self, file: str, name: str, line: int) -> None:
        lines = linecache.getlines(file)
        self.found[file, name] = None
        if not 0 < line <= len(lines):
            return
        block = inspect.getblock(lines[line - 1 :])
        start = next((i for i, text in enumerate(block) if text.lstrip().startswith("def ")), 0)
        text = textwrap.dedent("".join(block[start:])).expandtabs(4).splitlines()
        shown = _withheld(text) if Path(file).is_relative_to(PACKAGE) else text
        self.found[file, name] = Source(name, line + start, tuple(shown))


def _definition(place: Place) -> int:
    """The line of the `def` that a line of a helper function belongs to; 0 if it is not found."""
    lines = linecache.getlines(place.file)
    for number in range(min(place.line, len(lines)), 0, -1):
        if lines[number - 1].lstrip().startswith(f"def {place.function}("):
            return number
    return 0


def _withheld(lines: list[str]) -> list[str | None]:
    """A kernel of the course without the solution of its exercise: a trace must not reveal it."""
    shown: list[str | None] = []
    inside = False
    for line in lines:
        inside = inside or "### BEGIN SOLUTION" in line
        shown.append(None if inside else line.rstrip())
        inside = inside and "### END SOLUTION" not in line
    return shown
