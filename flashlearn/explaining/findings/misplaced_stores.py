"""Right numbers that are stored nowhere, twice, or in the wrong place.

The wrong place may be another output, the transposed one, where another tensor's strides lead, some places
further on, or in reverse order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from flashlearn.explaining.findings.missing_programs import missing_programs
from flashlearn.explaining.findings.rule import SILENT, Clue, Rule, indices, near
from flashlearn.later import torch
from flashlearn.outcome import Wording

SHIFTS = (1, -1, 16, -16, 32, -32, 64, -64, 128, -128)
"""Places by which an output may be shifted: one, or a whole block."""

COVER = (
    "Which programs should write there? Do the grid, what leads a program to its part, and the addresses and "
    "the mask of the store cover the whole output?"
)


@dataclass(frozen=True)
class NeverWritten(Rule):
    """`count` of `total` elements, the `first` by its index; a sentence about the grid, with a next step."""

    name = "never written"
    observed = True
    rank = 20
    misplaced = "stores"

    output: str
    case: str
    count: int
    total: int
    first: tuple[int, ...]
    of_the_grid: tuple[str, str] = ("", "")

    @classmethod
    def look(cls, clue: Clue) -> NeverWritten | None:
        """Unwritten elements that hold what memory held before; torch's own numbers would all be finite."""
        if clue.check.writers is None:
            return None
        unwritten = clue.check.writers < 0
        if not unwritten.any() or (clue.bad & ~unwritten).any():
            return None
        held = clue.check.got[unwritten.reshape(clue.check.got.shape)]
        if bool(held.isfinite().any()) and not bool((held == held[0]).all()):
            return None
        extent = clue.extent(unwritten)
        writers = clue.check.writers.reshape(clue.check.got.shape)
        grid = missing_programs(clue.name, writers, clue.outcome.launches)
        return cls(clue.name, clue.outcome.case.name, *extent, grid)

    def wording(self) -> Wording:
        """The first element and how many there are."""
        why, step = self.of_the_grid
        keeps = "elements keep what they" if self.total > 1 else "element keeps what it"
        if self.count == 1 < self.total:
            keeps = "elements keeps what it"
        return Wording(
            f"No program writes {self.output}[{indices(self.first)}] in case “{self.case}”: {self.count} of "
            f"{self.total} {keeps} held before the launch.{' ' if why else ''}{why}",
            step or COVER,
        )


@dataclass(frozen=True)
class WrittenTwice(Rule):
    """`count` of `total` elements hold `times` the right number, the `first` by its index."""

    name = "written twice"
    rank = 130
    conclusive = True

    output: str
    case: str
    count: int
    total: int
    times: float
    first: tuple[int, ...]

    @classmethod
    def look(cls, clue: Clue) -> WrittenTwice | None:
        """The same share was added again."""
        bad = clue.bad & (clue.expected.abs() > 4 * clue.check.allowed)
        if int(bad.sum()) < 4 or bool((clue.bad & ~bad).any()) or not bool((~clue.bad).any()):
            return None
        times = float((clue.got[bad] / clue.expected[bad]).median().round())
        near_it = 2 <= times < math.inf and near(
            clue.got[bad], times * clue.expected[bad], times * clue.slack
        )
        if not near_it:
            return None
        count, total, first = clue.extent(bad)
        return cls(clue.name, clue.outcome.case.name, count, total, times, first)

    def wording(self) -> Wording:
        """How many elements, and how often."""
        return Wording(
            f"{self.count} of {self.total} elements of {self.output} hold {self.times:.0f} times the right "
            f"number in case “{self.case}”, the first at {list(self.first)}; the others are right. It "
            f"looks as if the same numbers were added {self.times:.0f} times there.",
            "Which programs, or which steps of the loop, add to this element?",
        )


@dataclass(frozen=True)
class OutputsExchanged(Rule):
    """`output` holds the numbers of `other`; `outputs` are all of them in their order."""

    name = "outputs exchanged"
    rank = 40
    conclusive = True

    output: str
    other: str
    outputs: tuple[str, ...]

    @classmethod
    def look(cls, clue: Clue) -> OutputsExchanged | None:
        """Another wrong output whose right numbers these are."""
        for other in clue.outcome.outputs:
            if other.name == clue.name or other.ok or not isinstance(other.expected, torch.Tensor):
                continue
            if clue.close(clue.got, other.expected.double()):
                return cls(clue.name, other.name, clue.exercise.outputs)
        return None

    def wording(self) -> Wording:
        """Whose numbers they are."""
        return Wording(
            f"{self.output} contains the values that should be in {self.other}.",
            f"Are {', '.join(self.outputs)} returned in this order, and is each of them made, or stored, "
            "under its "
            "own name?",
        )


@dataclass(frozen=True)
class Transposed(Rule):
    """`output` is the transpose of the right answer."""

    name = "transposed"
    rank = 70
    conclusive = True

    output: str

    @classmethod
    def look(cls, clue: Clue) -> Transposed | object | None:
        """Right once transposed; silent for vectors and single rows, which look the same either way."""
        got = clue.got
        if got.ndim < 2 or got.shape[-1] < 2 or got.shape[-2] < 2:
            return SILENT
        if got.shape[-1] != got.shape[-2]:
            return None
        return cls(clue.name) if clue.close(got.transpose(-1, -2)) else None

    def wording(self) -> Wording:
        """Which index counts rows."""
        return Wording(
            f"{self.output} is the transpose of the right answer.",
            "Which of the two indices counts rows? Compare the last product with the formula, and what is "
            "done with "
            "its result.",
        )


@dataclass(frozen=True)
class StoredWithOtherStrides(Rule):
    """The strides of `tensor` are used for `output`."""

    name = "stored with other strides"
    rank = 80
    conclusive = True

    output: str
    tensor: str
    called: tuple[str, ...] = ()

    @classmethod
    def look(cls, clue: Clue) -> tuple[str, ...] | object | None:
        """The inputs of the same shape whose strides would have put every right number where it is."""
        got = clue.check.got
        if got.ndim < 2 or not got.is_contiguous():
            return None
        can_tell, tensors = False, []
        for name, value in clue.inputs.items():
            if not isinstance(value, torch.Tensor) or value.shape != got.shape or value.is_contiguous():
                continue
            places = _places(value)
            if int(places.max()) >= got.numel() or len(places.unique()) < got.numel():
                continue  # beyond the end, or one place for several elements: that shows in other ways
            can_tell = True
            if near(clue.got.flatten()[places], clue.expected.flatten(), clue.slack):
                tensors.append(name)
        if not can_tell:
            return SILENT
        return tuple(tensors) or None

    @classmethod
    def agree(cls, clues: Sequence[Clue], seen: Sequence[tuple[str, ...]]) -> StoredWithOtherStrides | None:
        """The tensor that has this layout in every case; of several the one whose gradient the output is."""
        common = set.intersection(*map(set, seen))
        if not common:
            return None
        output = clues[0].name
        tensor = output[1:] if output[1:] in common else min(common)
        own = f"strides of {tensor} used for {output}"
        return cls(output, tensor, (own,) if own in clues[0].exercise.explained.mistakes else ())

    def wording(self) -> Wording:
        """Whose strides the store uses."""
        return Wording(
            f"{self.output} holds the right numbers in other places: those that the strides of {self.tensor} "
            "would give them.",
            f"{self.output} is a tensor of its own, with strides of its own: which ones does its store use?",
        )


@dataclass(frozen=True)
class StoredRowByRow(Rule):
    """`output` has the `strides` of `tensor`, and is stored as if each row came after the one before."""

    name = "stored row by row"
    rank = 82
    conclusive = True

    output: str
    tensor: str
    strides: tuple[int, ...]
    case: str

    @classmethod
    def look(cls, clue: Clue) -> StoredRowByRow | None:
        """Right once its memory is read in order, with the strides of an input of the same shape."""
        got = clue.check.got
        if got.ndim < 2 or got.is_contiguous():
            return None
        places = _places(got)
        if int(places.max()) != got.numel() - 1 or len(places.unique()) < got.numel():
            return None
        memory = clue.got.flatten()[places.argsort()]
        alike = [
            name
            for name, value in clue.inputs.items()
            if isinstance(value, torch.Tensor) and (value.shape, value.stride()) == (got.shape, got.stride())
        ]
        if not alike or not near(memory, clue.expected.flatten(), clue.slack):
            return None
        return cls(clue.name, alike[0], got.stride(), clue.outcome.case.name)

    def wording(self) -> Wording:
        """Whose strides the output has."""
        return Wording(
            f"{self.output} holds the right numbers in other places: it has the strides of {self.tensor}, "
            f"{self.strides} in case “{self.case}”, and the store writes one row after the other.",
            f"torch.empty_like keeps the order in which a dense tensor lies in memory: which strides should "
            f"{self.output} have, and which ones does its store use?",
        )


def _places(view: torch.Tensor) -> torch.Tensor:
    """Where the view's strides put each of its elements, counted from the first."""
    places = torch.zeros((), dtype=torch.int64)
    for size, stride in zip(view.shape, view.stride(), strict=True):
        places = places.unsqueeze(-1) + stride * torch.arange(size)
    return places.flatten()


@dataclass(frozen=True)
class Shifted(Rule):
    """`what` ("row", "column" or "element") i of `output` holds number i − `by`."""

    name = "shifted"
    rank = 120

    output: str
    what: str
    by: int

    @classmethod
    def look(cls, clue: Clue) -> Shifted | None:
        """The first shift along the last two dimensions that makes the rest right."""
        got, expected = clue.got, clue.expected
        for axis in range(max(0, got.ndim - 2), got.ndim):
            length = got.shape[axis]
            for by in SHIFTS:
                left = length - abs(by)
                if left < 2 or left < length / 2:
                    continue
                moved = got.narrow(axis, max(by, 0), left)
                source = expected.narrow(axis, max(-by, 0), left)
                if bool((source != source.flatten()[0]).any()) and near(moved, source, clue.slack):
                    what = "element" if got.ndim == 1 else "column" if axis == got.ndim - 1 else "row"
                    return cls(clue.name, what, by)
        return None

    def wording(self) -> Wording:
        """Which one is where."""
        origin = f"i − {self.by}" if self.by > 0 else f"i + {-self.by}"
        return Wording(
            f"{self.output} holds the right {self.what}s in the wrong place: {self.what} i holds {origin}.",
            "Compare the indices of the loads with those of the store.",
        )


@dataclass(frozen=True)
class ReversedOrder(Rule):
    """`what` ("row", "column" or "element") i of `output` holds number n − 1 − i."""

    name = "reversed order"
    rank = 125

    output: str
    what: str

    @classmethod
    def look(cls, clue: Clue) -> ReversedOrder | object | None:
        """Right once reversed along one of the last two dimensions; silent where these have size 1."""
        got = clue.got
        axes = [axis for axis in range(max(0, got.ndim - 2), got.ndim) if got.shape[axis] > 1]
        for axis in axes:
            if clue.close(got.flip(axis)):
                what = "element" if got.ndim == 1 else "column" if axis == got.ndim - 1 else "row"
                return cls(clue.name, what)
        return None if axes else SILENT

    def wording(self) -> Wording:
        """Which one is where."""
        return Wording(
            f"{self.output} holds the right {self.what}s in reverse order: {self.what} 0 holds the last one.",
            "Which index counts down where it should count up, or the other way round?",
        )
