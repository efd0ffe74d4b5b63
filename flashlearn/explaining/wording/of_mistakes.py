"""Mistakes that an exercise declares, with its own words, and where they show."""

from __future__ import annotations

from flashlearn.explaining.scope import Scope
from flashlearn.explaining.wording.kinds import Wording, joined, kind

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


@kind("declared")
def declared(sentence: str, next_step: str, scope: Scope | None = None) -> Wording:
    """A mistake in the exercise's words."""
    return Wording(joined(sentence, where(scope)), next_step)


@kind("explained")
def explained(sentence: str, next_step: str = "") -> Wording:
    """What an exercise says itself of an answer to it."""
    return Wording(sentence, next_step)


def where(scope: Scope | None) -> str:
    """Where a mistake holds; nothing if it holds everywhere it could show."""
    if scope is None:
        return ""
    if scope.kind == "part":
        explained, wrong = scope.share
        seen = f"By itself it gives your numbers in {explained} of the {wrong} wrong cases."
        return f"{seen} Mend it, and look at the others again."
    if scope.kind == "outputs":
        shows, are = "shows" if len(scope.shows) == 1 else "show", "is" if len(scope.spared) == 1 else "are"
        return f"Only {' and '.join(scope.shows)} {shows} it; {' and '.join(scope.spared)} {are} right."
    return f"It happens {scope.kind} {TAGS[scope.tag]}: the other cases are right."
