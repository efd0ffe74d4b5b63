"""Every case passes, and the exercise's own review of the answer finds something."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.outcome import FindingKind, Wording


@dataclass(frozen=True)
class Review(FindingKind):
    """`seen` is the review's sentence, which the outcome of `case` quotes."""

    name = "review"
    beyond_cases = True

    seen: str
    case: str = ""

    def wording(self) -> Wording:
        """The review's sentence."""
        return Wording(self.seen, "Every case passes; only this remains to be fixed.", self.case)
