"""A declared mistake that gives some outputs, where the others have other numbers than it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flashlearn.explaining.findings.rule import joined, listed_words
from flashlearn.explaining.findings.two_mistakes import again
from flashlearn.outcome import Finding, FindingKind, Wording


@dataclass(frozen=True)
class InSomeOutputs(FindingKind):
    """A mistake that gives the outputs in `shows`, and not those in `others`, which are wrong too."""

    name = "in some outputs"

    shows: tuple[str, ...]
    others: tuple[str, ...]
    parts: tuple[Finding, ...]

    def wording(self) -> Wording:
        """Which outputs, the mistake, and that the others may show another one."""
        (mistake,) = self.parts
        shown, have = _quoted(self.shows), "has" if len(self.shows) == 1 else "have"
        others, are = _quoted(self.others), "is" if len(self.others) == 1 else "are"
        return Wording(
            joined(
                f"In every failing case {shown} {have} the numbers that the following mistake gives, to "
                f"within rounding.",
                mistake.sentence,
                f"{others} {are} wrong too, with other numbers than it gives: there may be another mistake.",
            ),
            again(mistake.next_step),
        )


def _quoted(outputs: Sequence[str]) -> str:
    return listed_words([f"`{output}`" for output in outputs])
