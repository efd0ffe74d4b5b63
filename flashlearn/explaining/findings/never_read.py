"""Input that the answer depends on, and that no program ever loads: all of it, or which part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flashlearn.explaining.findings.needed_input import needed
from flashlearn.explaining.findings.rule import SILENT, Clue, Rule, joined
from flashlearn.later import torch
from flashlearn.outcome import FindingKind, Wording

LEADING = 2
"""Leading dimensions, batch and head, that count as one."""

HEADS, ANYWHERE = -1, -2

FIRST_TILE = ("the first tile again and again", "the first tile only", "addresses do not advance")
"""Names that exercises give to the mistake of reading nothing but the first tile."""

LAST_BLOCK = (
    "Does the grid, or the loop, reach the end of it, and does every mask of this load let it through?"
)

BOUNDS = (
    "Which program should read this part? Is there one whose addresses lead there, and whose masks let it "
    "through?"
)
LEADS_THERE = (
    "Part of the output is not written either: which programs should read and write there, and what leads a "
    "program to its part?"
)


@dataclass(frozen=True)
class Unread:
    """What is missing of one input: lines `first` to `last` of `length` along `axis`.

    `axis` is a dimension of the input, HEADS for batch and head together, or ANYWHERE for no whole lines.
    """

    name: str
    axis: int
    first: int
    last: int
    length: int
    elements: int

    def __str__(self) -> str:
        """The part as torch would slice it; heads, and scattered elements, in words."""
        if self.axis == ANYWHERE:
            return f"{self.elements} elements of {self.name}"
        if self.axis == HEADS:
            several = f"heads {self.first} to {self.last}"
            heads = several if self.last > self.first else f"head {self.first}"
            return f"{self.name}, {heads} of {self.length}"
        stop = "" if self.last == self.length - 1 else self.last + 1
        return f"{self.name}[{':, ' * self.axis}{self.first or ''}:{stop}]"


@dataclass(frozen=True)
class Example:
    """What was not read in one case."""

    case: str
    unread: tuple[Unread, ...]

    def __str__(self) -> str:
        return f"Never read in case “{self.case}”: {', '.join(map(str, self.unread))}."


def _shown(example: Example | None) -> str:
    return str(example) if example is not None else ""


@dataclass(frozen=True)
class NeverRead(Rule):
    """Input that no program loads, although `output` depends on it: the numbers cannot be right.

    `unwritten` if no program stores some of the output's elements either.
    """

    name = "never read"
    observed = True
    rank = 30
    misplaced = "loads"
    illustrations = ("example",)

    output: str
    example: Example | None = None
    unwritten: bool = False

    @classmethod
    def look(cls, clue: Clue) -> Example | object:
        """What is not read in one case and matters; silent where all of that is read."""
        seen = clue.outcome.observation
        unread = {
            name: mask for name, mask in (seen.unread if seen is not None else {}).items() if mask.any()
        }
        wanted = {name: needed(clue, name, mask) for name, mask in unread.items()}
        found = tuple(_lines(name, mask) for name, mask in wanted.items() if mask is not None)
        return Example(clue.outcome.case.name, found) if found else SILENT

    @classmethod
    def agree(cls, clues: Sequence[Clue], seen: Sequence[Example]) -> FindingKind:
        """What the missing parts have in common in all cases: the last tile, the first, all but the first
        …"""
        every = [example.unread for example in seen]
        names = set.intersection(*({one.name for one in found} for found in every))
        for name in sorted(names):
            parts = [next(one for one in found if one.name == name) for found in every]
            kind = _part(name, parts, clues, {one.name for found in every for one in found})
            if kind is not None:
                return kind
        writers = [clue.check.writers for clue in clues]
        return cls(clues[0].name, seen[0], any(w is not None and bool((w < 0).any()) for w in writers))

    def wording(self) -> Wording:
        """That something is missing, with an example."""
        step = LEADS_THERE if self.unwritten else BOUNDS
        return Wording(
            joined(f"Some of what {self.output} depends on is read by no program.", _shown(self.example)),
            step,
        )


@dataclass(frozen=True)
class SomeHeadsNeverRead(FindingKind):
    """Whole heads of `tensor` that no program loads."""

    name = "some heads never read"
    observed = True
    called = ("permuted heads",)
    misplaced = "loads"
    about_input = True
    illustrations = ("example",)

    output: str
    tensor: str
    example: Example | None = None

    def wording(self) -> Wording:
        """Which heads, and which strides to look at."""
        sentence = f"{self.tensor} is read for some heads only."
        step = f"To which batch and head does the pointer of {self.tensor} go, and by which strides?"
        return Wording(joined(sentence, _shown(self.example)), step)


@dataclass(frozen=True)
class FirstPartNeverRead(FindingKind):
    """A loop over `tensor` that starts too late."""

    name = "first part never read"
    observed = True
    called = ("first tile missing",)
    misplaced = "loads"
    illustrations = ("example",)

    output: str
    tensor: str
    example: Example | None = None

    def wording(self) -> Wording:
        """What is missing, and where to look."""
        sentence = f"The first part of {self.tensor} is never read, and {self.output} depends on it."
        return Wording(
            joined(sentence, _shown(self.example)),
            "Where does the loop start, and which indices does the mask of this load let through?",
        )


@dataclass(frozen=True)
class EndNeverRead(FindingKind):
    """A loop over `tensor` that ends too early."""

    name = "end never read"
    observed = True
    called = ("last tile missing",)
    misplaced = "loads"
    illustrations = ("example",)

    output: str
    tensor: str
    example: Example | None = None

    def wording(self) -> Wording:
        """What is missing, and where to look."""
        sentence = f"The end of {self.tensor} is never read, and {self.output} depends on it."
        return Wording(joined(sentence, _shown(self.example)), LAST_BLOCK)


@dataclass(frozen=True)
class ReadUpToAnotherLength(FindingKind):
    """A loop over `tensor` that ends at the `length` of something else."""

    name = "read up to another length"
    observed = True
    about_input = True
    illustrations = ("example",)

    output: str
    tensor: str
    length: str
    example: Example | None = None
    called: tuple[str, ...] = ()

    def wording(self) -> Wording:
        """Which length it is."""
        sentence = f"{self.tensor} is read up to {self.length}, not to its own end."
        return Wording(
            joined(sentence, _shown(self.example)),
            "To which length do the loop and the mask of this load go?",
        )


@dataclass(frozen=True)
class OnlyFirstTileRead(FindingKind):
    """A pointer of `tensor` that does not advance; `alone` if those of other inputs do.

    `tile` elements of up to `longest` are read along dimension `axis` of `axes`.
    """

    name = "only first tile read"
    observed = True
    misplaced = "loads"
    about_input = True
    illustrations = ("example", "alone")

    output: str
    tensor: str
    tile: int
    longest: int
    example: Example | None = None
    alone: bool = False
    called: tuple[str, ...] = ()
    axis: int = 0
    axes: int = 1

    def wording(self) -> Wording:
        """How much is read, along which dimension, and what moves the pointer."""
        along = f" along its {_ordinal(self.axis, self.axes)} dimension" if self.axes > 1 else ""
        others = "The other inputs are read to the end." if self.alone else ""
        if self.tile == 1:  # that need not be a tile: an address that lacks this index reads no more
            sentence = f"Only index 0 of {self.tensor}{along} is ever read, of up to {self.longest} indices."
            place = "the index along this dimension" if self.axes > 1 else "the index"
            step = f"Where is {place} in the address of {self.tensor}, and what makes it change?"
            return Wording(joined(sentence, _shown(self.example), others), step)
        sentence = (
            f"Only the first tile of {self.tensor} is ever read, {self.tile} of up to {self.longest}{along}."
        )
        covered = "this dimension" if self.axes > 1 else self.tensor
        step = (
            f"Either one tile covers {covered}, or several do: those of other programs, or of the steps of a "
            "loop."
        )
        return Wording(joined(sentence, _shown(self.example), others), step)


def _ordinal(axis: int, axes: int) -> str:
    """Which of the dimensions it is, in words."""
    return "last" if axis == axes - 1 else ("first", "second", "third", "fourth", "fifth")[axis]


def _lines(name: str, unread: torch.Tensor) -> Unread:
    """The missing lines along the first axis that they fill; batch and head count as one axis."""
    shape = unread.shape
    lead = LEADING if unread.ndim > LEADING + 1 or (unread.ndim == LEADING + 1 and "lse" in name) else 0
    whole = unread.reshape(-1, *shape[lead:]) if lead else unread
    count = int(unread.sum())
    for axis in range(whole.ndim):
        others = [d for d in range(whole.ndim) if d != axis]
        every = whole.all(dim=others) if others else whole
        some = whole.any(dim=others) if others else whole
        if not bool((every == some).all()) or not bool(every.any()) or bool(every.all()):
            continue
        first, last = int(every.nonzero()[0]), int(every.nonzero()[-1])
        if int(every.sum()) == last - first + 1 or (lead and axis == 0):
            number = HEADS if lead and axis == 0 else axis + (lead - 1 if lead else 0)
            return Unread(name, number, first, last, len(every), count)
    return Unread(name, ANYWHERE, 0, 0, 0, count)


def _part(name: str, parts: list[Unread], clues: Sequence[Clue], all_names: set[str]) -> FindingKind | None:
    """The kind for what is missing of one input in every case; None if that has nothing in common."""
    output, example = clues[0].name, Example(clues[0].outcome.case.name, (parts[0],))
    if all(p.axis == HEADS for p in parts):
        return SomeHeadsNeverRead(output, name, example)
    if any(p.axis < 0 for p in parts):
        return None
    if all(p.last == p.length - 1 for p in parts):
        return _end(output, name, example, parts, clues, all_names)
    if all(p.first == 0 for p in parts):
        return FirstPartNeverRead(output, name, example)
    return None


def _end(
    output: str,
    name: str,
    example: Example,
    parts: list[Unread],
    clues: Sequence[Clue],
    all_names: set[str],
) -> FindingKind:
    """The kind for an input whose end is missing in every case."""
    other, declared = _other_length(parts, clues), clues[0].exercise.explained.mistakes
    if other:
        ends = (f"loop over {other}", "loop end without S_k − S_q")
        called = (*(n for n in declared if n in ends), "last tile missing")[:1]
        return ReadUpToAnotherLength(output, name, other, example, called)
    tile = max(p.first for p in parts)
    stays = all(p.first in (0, tile) for p in parts) and tile and not tile & (tile - 1)
    stays = stays and len({p.axis for p in parts}) == 1
    if stays and any(p.length - p.first > tile for p in parts):
        longest = max(p.length for p in parts)
        alone = len(all_names) == 1 and len(_siblings(clues[0], name)) > 0
        own = (f"{_symbol(name)}'s pointer is not advanced",) if alone else ()
        called = (*(n for n in (*own, *FIRST_TILE) if n in declared), "only the first tile")[:1]
        place = parts[0].axis, clues[0].inputs[name].ndim
        return OnlyFirstTileRead(output, name, tile, longest, example, alone, called, *place)
    return EndNeverRead(output, name, example)


def _symbol(name: str) -> str:
    """The mathematical name of an input: dO for do."""
    return name[0] + name[1:].upper() if len(name) == 2 and name[0] == "d" else name.upper()


def _siblings(clue: Clue, name: str) -> list[str]:
    """Other inputs of the same shape."""
    mine = clue.inputs[name].shape
    return [n for n, t in clue.inputs.items() if n != name and getattr(t, "shape", None) == mine]


def _other_length(parts: list[Unread], clues: Sequence[Clue]) -> str:
    """The size of the case at which every missing part begins, if it is one and the same."""
    names = set(clues[0].outcome.case.sizes)
    for name in sorted(names):
        sizes = [clue.outcome.case.sizes.get(name) for clue in clues]
        if all(p.first == size for p, size in zip(parts, sizes, strict=True)) and len(set(sizes)) > 1:
            return name
    return ""
