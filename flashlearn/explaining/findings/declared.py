"""Mistakes that an exercise declares, in its own words, and where they show."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flashlearn.exercise import Mistake
from flashlearn.explaining.findings.rule import joined
from flashlearn.explaining.scope import Scope
from flashlearn.outcome import FindingKind, Wording

TAGS = {
    "ragged": "sizes that are not whole blocks",
    "half": "half precision",
    "S_q ≠ S_k": "S_q ≠ S_k",
    "heads": "several heads",
    "batch": "several batches",
    "padded D": "a D that is no power of two",
    "large": "large values",
    "strided": "strided inputs",
    "−inf": "scores of −∞",
}
"""What a case's tags say, after «only with» or «only without»."""


POSSIBLE = "What follows is one possible cause."
"""What is said before a mistake that is only possible."""

FIRST_NAN = "Which NaN or infinity reaches the result, and where does it come from?"


@dataclass(frozen=True)
class Declared(FindingKind):
    """A mistake in the exercise's words, with the `scope` in which it holds, if not everywhere."""

    name = "declared"
    conclusive = True

    sentence: str
    next_step: str
    scope: Scope | None = None
    called: tuple[str, ...] = ()
    only_nan: bool = False
    """That nothing else came out: then many mistakes give the same, and this one is only possible."""

    @classmethod
    def of(cls, name: str, mistake: Mistake, scope: Scope | None = None, only_nan: bool = False) -> Declared:
        """The kind for a mistake of that name."""
        return cls(mistake.sentence, mistake.next_step, scope, (name,), only_nan and not mistake.marked)

    def wording(self) -> Wording:
        """The exercise's words, and where it shows."""
        whole = joined(in_part(self.scope), self.sentence, where(self.scope))
        if self.only_nan:
            return Wording(joined(POSSIBLE, whole), FIRST_NAN)
        return Wording(whole, self.next_step)


@dataclass(frozen=True)
class DeclaredFault(FindingKind):
    """A kernel that the exercise declares fails in just this way.

    `seen` is what `case` says. With `both` that is said as well where the declared sentence is: of a fault of
    synchronisation the reason alone is not enough.
    """

    name = "declared fault"

    seen: str
    case: str
    sentence: str
    next_step: str
    both: bool = False
    called: tuple[str, ...] = ()

    def wording(self) -> Wording:
        """What was seen, and the exercise's words."""
        whole = joined(self.seen, self.sentence)
        return Wording(whole, self.next_step, self.case, whole if self.both else self.sentence)


@dataclass(frozen=True)
class Explained(FindingKind):
    """What an exercise says itself about an answer to it (`HowExplained.explain`)."""

    name = "explained"

    sentence: str
    next_step: str = ""
    called: tuple[str, ...] = ()

    def wording(self) -> Wording:
        """The exercise's words."""
        return Wording(self.sentence, self.next_step)


def speaks_of(mistake: Mistake, output: str) -> bool:
    """True if the words for a mistake have the name of an output."""
    return bool(re.search(rf"\b{output}\b", mistake.sentence, re.IGNORECASE))


def in_part(scope: Scope | None, what: str = "mistake") -> str:
    """In how many cases a mistake gives the numbers, if not in all; said before the mistake."""
    if scope is None or scope.kind != "part":
        return ""
    explained, wrong = scope.share
    gives = "give" if what.endswith("s") else "gives"
    cases = f"In {explained} of the {wrong} failing cases"
    return f"{cases}, the following {what} {gives} your numbers, to within rounding."


def where(scope: Scope | None) -> str:
    """Where a mistake holds; nothing if it holds everywhere it could show."""
    if scope is None:
        return ""
    if scope.kind == "part":
        return "Check again after fixing it."
    if scope.kind == "outputs":
        shows, are = "shows" if len(scope.shows) == 1 else "show", "is" if len(scope.spared) == 1 else "are"
        return f"Only {' and '.join(scope.shows)} {shows} it; {' and '.join(scope.spared)} {are} right."
    return f"It happens {scope.kind} {TAGS[scope.tag]}; the other cases pass."
