"""Every case passes, and a look at the answer as a whole finds something."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.outcome import FindingKind, Wording


def _step(seen: str) -> str:
    """That the cases are not what is wrong, where the sentence does not say so itself."""
    return (
        ""
        if "very case passes" in seen
        else "Every case passes, but the answer will be accepted only once this is fixed."
    )


@dataclass(frozen=True)
class Review(FindingKind):
    """`seen` is the review's sentence, which the outcome of `case` quotes."""

    name = "review"
    beyond_cases = True

    seen: str
    case: str = ""

    def wording(self) -> Wording:
        """The review's sentence."""
        return Wording(self.seen, _step(self.seen), self.case)


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
        return Wording(self.seen, _step(self.seen), self.case)
