"""Every case passes, and a look at the answer as a whole finds something."""

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


@dataclass(frozen=True)
class AtRealSizes(FindingKind):
    """What is wrong once tensors are large, `called` by its name; `seen` is the sentence of `case`."""

    name = "real sizes"
    beyond_cases = True

    seen: str
    case: str = ""
    called: tuple[str, ...] = ()

    def wording(self) -> Wording:
        """What was seen."""
        return Wording(self.seen, "Every case passes; only this remains to be fixed.", self.case)
