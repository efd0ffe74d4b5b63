"""Parameters of a kernel that no line of it uses, where only inputs with other strides are wrong."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import listed_words
from flashlearn.outcome import FindingKind, Wording


@dataclass(frozen=True)
class UnusedParameters(FindingKind):
    """No line of `kernel` uses the `parameters`; every case that fails has a strided input."""

    name = "unused strides"
    vague = True

    kernel: str
    parameters: tuple[str, ...]

    def wording(self) -> Wording:
        """Which parameters, and what they may be for."""
        names = listed_words([f"`{name}`" for name in self.parameters])
        return Wording(
            f"Only cases with views as inputs fail, and no line of {self.kernel} uses {names}.",
            "What does the launcher pass for this, and which address needs it?"
            if len(self.parameters) == 1
            else "What does the launcher pass for these, and which addresses need them?",
        )
