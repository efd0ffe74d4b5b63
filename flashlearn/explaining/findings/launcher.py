"""What a launcher does, or returns, that alone makes cases wrong; the case itself has said what was seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from flashlearn.exercise import Kind
from flashlearn.outcome import FindingKind, Wording


@dataclass(frozen=True)
class LauncherFault(FindingKind):
    """`seen` is what `case` says; its `fault` begins with the name of the kind. `answer` is what computes."""

    step: ClassVar[str]

    seen: str
    case: str = ""
    answer: Kind = Kind.KERNEL

    def wording(self) -> Wording:
        """The sentence of the case."""
        return Wording(self.seen, self.step, self.case)


@dataclass(frozen=True)
class WrongReturn(LauncherFault):
    """It returns something else than the signature names."""

    name = "launcher"
    step = "Return what the signature names, in that order."


@dataclass(frozen=True)
class ChangedInput(LauncherFault):
    """An input has other values after the call."""

    name = "changed input"
    step = (
        "Which line writes into its memory: a store of the kernel, or a line of the launcher? A view "
        "shares its memory, and so may what `contiguous`, `reshape` and `to` return."
    )

    def wording(self) -> Wording:
        """The sentence of the case, and how such an answer can change an input."""
        return Wording(self.seen, IN_PLACE.get(self.answer, self.step), self.case)


@dataclass(frozen=True)
class ReturnedInput(LauncherFault):
    """An output is an input."""

    name = "returned input"
    step = "Allocate separate memory for the result, and let the kernel store into it."


@dataclass(frozen=True)
class StaleAnswer(LauncherFault):
    """A second call with other inputs gives the first call's answer."""

    name = "stale answer"
    step = "Keep nothing from one call to the next: compute from the arguments every time."


IN_PLACE = {
    Kind.TORCH: (
        "Which line works in place: +=, an index on the left of =, a method whose name ends in _, or out=? A "
        "view shares the input's memory, and so may what `contiguous`, `reshape` and `to` return."
    ),
    Kind.SYMBOLIC: "Which line assigns into the input, under this or another name? A copy is separate.",
}
"""What to look for where there is no kernel."""

BY_FAULT: dict[str, type[LauncherFault]] = {
    kind.name: kind for kind in (WrongReturn, ChangedInput, ReturnedInput, StaleAnswer)
}
"""The kind by what an outcome's `fault` begins with."""


@dataclass(frozen=True)
class NothingLaunched(FindingKind):
    """A launcher that launches no kernel; `case` shows it."""

    name = "nothing launched"

    case: str

    def wording(self) -> Wording:
        """What comes back without a kernel."""
        return Wording(
            "No kernel is launched: what comes back is memory that was never written.",
            "Which line launches a kernel, `kernel[grid](…)`? Is it reached, and how many programs does its "
            "grid have?",
            self.case,
        )
