"""Numbers that were never defined: hidden lanes of a load, and memory that nothing wrote."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flashlearn.explaining.findings.nan_origin import reach
from flashlearn.outcome import FindingKind, Wording


@dataclass(frozen=True)
class MaskedLoadWithoutOther(FindingKind):
    """`other` is a value of the hidden lanes of `tensor` with which every case is right."""

    name = "masked load without other"
    conclusive = True

    tensor: str
    other: float

    def wording(self) -> Wording:
        """What the hidden lanes hold, and what they should."""
        value = '-float("inf")' if self.other == -math.inf else str(self.other)
        return Wording(
            f"{self.tensor} is loaded under a mask without other=, and the result depends on the lanes that "
            "the mask hides. What they hold is undefined; here they were NaN, on a GPU they may be anything.",
            f"The argument other= of tl.load says what the hidden lanes hold; with other={value} every case "
            "is right.",
        )


@dataclass(frozen=True)
class UninitialisedMemory(FindingKind):
    """Memory from torch.empty that is used as if it were zeros, on which `output` depends."""

    name = "uninitialised memory"
    conclusive = True

    output: str | None

    def wording(self) -> Wording:
        """Where the memory comes from, and how to allocate it."""
        return Wording(
            f"{self.output or 'The output'} depends on memory that was never written: what torch.empty "
            "returns holds whatever was there before. If that is zero, every case is right.",
            "Is something added to this memory? A sum must begin at 0. If not, is a place read before a "
            "program has stored anything there, or one that should not be read at all?",
        )


SENTENCES = {
    "masked load without other": (
        "is loaded under a mask without other=: what the hidden lanes hold is undefined, and it reaches the "
        "result.",
        "The argument other= of tl.load says what the hidden lanes hold.",
    ),
    "uninitialised memory": (
        "is read where nothing was written: torch.empty holds whatever was there before.",
        "What should it hold there: 0 from the start, as with torch.zeros, or something that is stored "
        "first?",
    ),
}
"""The sentence after the tensor's name, and the next step, by what is undefined."""


@dataclass(frozen=True)
class UndefinedNumbers(FindingKind):
    """Undefined numbers of `tensor` reach `output`; `what` is a key of SENTENCES."""

    name = "undefined numbers"
    observed = True
    conclusive = True

    what: str
    tensor: str
    case: str
    output: str
    count: int
    total: int

    @property
    def names(self) -> tuple[str, ...]:
        """What is undefined."""
        return (self.what,)

    def wording(self) -> Wording:
        """What is undefined, and how far it reaches."""
        sentence, step = SENTENCES[self.what]
        reached = reach(self.case, self.output, self.count, self.total)
        return Wording(f"{self.tensor} {sentence} {reached}", step)
