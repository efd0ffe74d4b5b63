"""The right answer for a part of an input, as if the rest were zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flashlearn.explaining.findings.rule import SILENT, Clue, Rule, near
from flashlearn.explaining.findings.vanishing import vanishes
from flashlearn.judging.references import convert
from flashlearn.later import torch
from flashlearn.outcome import Wording
from flashlearn.running.values import as_tuple

TILES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)

STEPS = {
    "only the last tile": (
        "What becomes of the part before: does the loop begin after it, or is its share replaced instead of "
        "added to?"
    ),
    "only the first tile": (
        "What ends the sum there? It may be the number of programs or of iterations, the size of a tile, a "
        "mask, or addresses that do not advance."
    ),
    "last tile missing": "What ends before this part: the grid, a loop, or what a mask lets through?",
    "first tile missing": "What begins only after this part: the grid, a loop, or what a mask lets through?",
}
"""The next step by the part that was kept or left out. Where a short case allows several of these readings,
the first of them is taken."""


@dataclass(frozen=True)
class KeptPart(Rule):
    """What `output` is if `left_out`, a slice of an input, were zero; `part` is a key of STEPS."""

    name = "kept part"
    rank = 140

    output: str
    case: str
    part: str
    left_out: str

    @property
    def names(self) -> tuple[str, ...]:
        """The part's name."""
        return (self.part,)

    @classmethod
    def look(cls, clue: Clue) -> dict[str, str] | object | None:
        """The parts whose absence gives the learner's answer, each with the slice that is left out.

        It compares with the reference's answer when an input is zero outside its last (or first) tile, or
        inside it.
        """
        if not bool(clue.got.any()) or not clue.check.got.dtype.is_floating_point:
            return SILENT  # zeros: every part may be missing
        if vanishes(clue):
            return None  # nothing is left of any part
        index = clue.exercise.outputs.index(clue.name)
        inputs = convert(clue.inputs, torch.float64)
        silent, readings = True, {}
        for name, value in inputs.items():
            if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.ndim == 0:
                continue
            for axis in range(max(0, value.ndim - 2), value.ndim):
                for part, left_out, mask in _parts(value, axis):
                    silent = False
                    kept = {**inputs, name: torch.where(mask, value, 0.0)}
                    if _same(clue, as_tuple(clue.exercise.reference(**kept))[index].double()):
                        readings.setdefault(part, f"{name}{left_out}")
        return readings or (SILENT if silent else None)

    @classmethod
    def agree(cls, clues: Sequence[Clue], seen: Sequence[dict[str, str]]) -> KeptPart | None:
        """The part that is kept in every case."""
        part = next((part for part in STEPS if all(part in readings for readings in seen)), None)
        return cls(clues[0].name, clues[0].outcome.case.name, part, seen[0][part]) if part else None

    def wording(self) -> Wording:
        """What would have to be zero."""
        return Wording(
            f"{self.output} has the values that it would have if {self.left_out} were zero (case "
            f"{self.case}).",
            STEPS[self.part],
        )


def _same(clue: Clue, answer: torch.Tensor) -> bool:
    """True if the learner has this answer. Wrong numbers may be larger than right ones, and rounded so."""
    if answer.shape != clue.got.shape or not bool((answer != 0).any()):
        return False
    finite = answer[torch.isfinite(answer)]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    slack = max(clue.slack, 4 * torch.finfo(clue.check.got.dtype).eps * largest)
    return slack <= max(clue.slack, 0.1 * clue.check.error) and near(clue.got, answer, slack)


def _parts(value: torch.Tensor, axis: int) -> Iterator[tuple[str, str, torch.Tensor]]:
    """(part, the slice that is left out, mask of what is kept) for tiles of every usual size."""
    length = value.shape[axis]
    line = torch.arange(length).reshape([-1 if d == axis else 1 for d in range(value.ndim)])
    seen, before = set(), ":, " * axis
    for tile in TILES:
        last = (length - 1) // tile * tile
        if tile >= length:
            break
        for part, left_out, mask in (
            ("last tile missing", f"[{before}{last}:]", line < last),
            ("first tile missing", f"[{before}:{tile}]", line >= tile),
            ("only the last tile", f"[{before}:{last}]", line >= last),
            ("only the first tile", f"[{before}{tile}:]", line < tile),
        ):
            key = (part, *mask.flatten().tolist())
            if key not in seen:
                seen.add(key)
                yield part, left_out, mask
