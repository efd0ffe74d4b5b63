"""Wrong only from where a block may begin to the end: perhaps in the last, incomplete block."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class RaggedTail(Rule):
    """Wrong from index `first` of dimension `axis` on; `axis` is None for a vector."""

    name = "ragged tail"
    rank = 240
    vague = locates = True

    output: str
    case: str
    first: int
    axis: int | None

    @classmethod
    def look(cls, clue: Clue) -> RaggedTail | None:
        """A tail of at most half the length that begins where a block can begin."""
        bad = clue.bad
        if not bad.any():
            return None
        for axis in range(bad.ndim):
            length = bad.shape[axis]
            others = [d for d in range(bad.ndim) if d != axis]
            along = bad.any(dim=others) if others else bad
            first = int(along.nonzero()[0])
            if first == 0 or not bool(along[first:].all()) or length - first > length // 2:
                continue
            if first & (first - 1) and first % 16:
                continue  # not where a block can begin
            return cls(clue.name, clue.outcome.case.name, first, None if bad.ndim == 1 else axis)
        return None

    def wording(self) -> Wording:
        """Where the tail begins."""
        along = "" if self.axis is None else f" of dimension {self.axis}"
        return Wording(
            f"{self.output} is right below index {self.first}{along}, and not from there to the end (case "
            f"{self.case}).",
            "What begins at this index: a block, another program, another part of the loop? If it is a block "
            "that is not full, what hides the rest of it?",
        )
