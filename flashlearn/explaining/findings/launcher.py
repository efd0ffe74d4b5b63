"""What a launcher does, or returns, that alone makes cases wrong; the case itself has said what was seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from flashlearn.outcome import FindingKind, Wording


@dataclass(frozen=True)
class LauncherFault(FindingKind):
    """`seen` is what `case` says; its `fault` begins with the name of the kind."""

    step: ClassVar[str]

    seen: str
    case: str = ""

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
    step = "Allocate a tensor of your own for what the kernel writes."


@dataclass(frozen=True)
class ReturnedInput(LauncherFault):
    """An output is an input."""

    name = "returned input"
    step = "Allocate the result with torch.empty_like, and let the kernel store into it."


@dataclass(frozen=True)
class StaleAnswer(LauncherFault):
    """A second call with other inputs gives the first call's answer."""

    name = "stale answer"
    step = "Nothing may be kept from one call to the next: compute from the arguments, every time."


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
            "Launch the kernel as `kernel[grid](…)`, with a program for each part of the output.",
            self.case,
        )
