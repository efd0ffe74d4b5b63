"""What a launcher does, or returns, that alone makes cases wrong; the case itself has said what was seen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from flashlearn.exercise import Kind
from flashlearn.explaining.findings.counts import FAILING, some_of
from flashlearn.explaining.findings.rule import labelled
from flashlearn.outcome import Finding, FindingKind, Wording


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
        if SHARES in self.seen:
            return Wording(self.seen, SHARED, self.case)
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


SHARES = "shares the memory of"

SHARED = (
    "Which line gives the result its memory? A view shares that of its tensor, and so may what `contiguous`, "
    "`reshape` and `to` return. Allocate separate memory for the result."
)
"""What to look for where the result lies in the input."""

COUNT = re.compile(r"(?:the|both|all \d+) failing cases? pass(?:es)?")
"""What an experiment says of cases that it makes right; here they fail for another reason as well."""


@dataclass(frozen=True)
class NumbersBesides(FindingKind):
    """A fault about an input, and numbers that are wrong as well in `count` of the `failing` cases.

    The first of the `parts` is the fault; a second one says what is wrong with the numbers of the `outputs`.
    """

    name = "numbers besides"

    outputs: tuple[str, ...]
    example: str
    count: int
    failing: int
    parts: tuple[Finding, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of both."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.names))

    def wording(self) -> Wording:
        """The fault, where numbers are wrong as well, and why, if that is known."""
        fault, *more = self.parts
        are = "are" if len(self.outputs) > 1 else "is"
        where = f"in case “{self.example}”"
        if self.count > 1:
            where = f"in {some_of(self.count, self.failing, FAILING)}, “{self.example}” for one,"
        wrong = f"{where} {' and '.join(self.outputs)} {are} wrong as well"
        if not more:
            return Wording(
                f"{fault.sentence} Besides, {wrong}: there may be another mistake.",
                f"{fault.next_step} Fix it, and check again.",
            )
        (other,) = more
        second = COUNT.sub("the numbers are right", other.sentence)
        return Wording(
            f"There are two mistakes. (1) {fault.sentence} (2) {wrong[0].upper()}{wrong[1:]}. {second}",
            labelled(("1", fault.next_step), ("2", other.next_step)),
        )


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
