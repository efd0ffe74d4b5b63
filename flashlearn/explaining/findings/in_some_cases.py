"""What holds of an output in some of the failing cases, where another mistake changes the others."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.declared import where
from flashlearn.explaining.findings.outputs import wrong_too
from flashlearn.explaining.findings.rule import joined
from flashlearn.explaining.scope import Scope
from flashlearn.outcome import Finding, FindingKind, Wording


@dataclass(frozen=True)
class InSomeCases(FindingKind):
    """What a rule says of an output in so many of the cases as the `scope` has, and in no others.

    The outputs in `silent` are wrong as well, in some case, and nothing is known of them.
    """

    name = "in some cases"
    observed = True

    scope: Scope
    parts: tuple[Finding, ...]
    silent: tuple[str, ...] = ()

    def wording(self) -> Wording:
        """In how many cases, what holds there, and that the others differ."""
        (finding,) = self.parts
        explained, wrong = self.scope.share
        seen = f"In {explained} of the {wrong} failing cases, {finding.sentence}"
        return Wording(joined(seen, wrong_too(self.silent), where(self.scope)), finding.next_step)
