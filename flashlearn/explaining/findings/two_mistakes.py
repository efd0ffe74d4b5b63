"""Two mistakes in one answer: made together, by precision, or one beside a fault of memory."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.declared import where
from flashlearn.explaining.findings.rule import joined
from flashlearn.explaining.scope import Scope
from flashlearn.outcome import Finding, FindingKind, Wording


@dataclass(frozen=True)
class AtOnce(FindingKind):
    """Two mistakes that are made together, or each in its part."""

    name = "at once"
    conclusive = True

    scope: Scope | None = None
    parts: tuple[Finding, ...] = ()

    def wording(self) -> Wording:
        """Both, and where they show."""
        first, second = (part.sentence for part in self.parts)
        sentence = f"There are two mistakes. First: {first} Second: {second}"
        return Wording(joined(sentence, where(self.scope)), steps(self.parts))


@dataclass(frozen=True)
class ByPrecision(FindingKind):
    """One mistake that the fp32 cases show, and another that those of half precision show."""

    name = "by precision"

    parts: tuple[Finding, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of both."""
        return (*self.parts[0].names, *self.parts[1].names)

    def wording(self) -> Wording:
        """Both, each with its precision."""
        full, half = (part.sentence for part in self.parts)
        return Wording(
            f"There are two mistakes. In fp32: {full} In half precision: {half}", steps(self.parts)
        )


@dataclass(frozen=True)
class InFp32(FindingKind):
    """A mistake that explains the fp32 cases; what those of half precision show is not known."""

    name = "in fp32"

    parts: tuple[Finding, ...]

    def wording(self) -> Wording:
        """The mistake, and for which cases it is."""
        (finding,) = self.parts
        return Wording(f"In the fp32 cases: {finding.sentence}", finding.next_step)


@dataclass(frozen=True)
class Besides(FindingKind):
    """A fault of memory, or a crash, and the mistake that the other cases show."""

    name = "besides"
    memory_fault = True
    misplaced = "all"
    adds_to_outcome = True

    parts: tuple[Finding, ...]

    def wording(self) -> Wording:
        """The fault, and then the mistake."""
        fault, other = (part.wording for part in self.parts)
        more = f"Besides, cases that run to the end have wrong results: {other.sentence}"
        next_step = joined(fault.next_step, other.next_step)
        return Wording(f"{fault.sentence} {more}", next_step, fault.quotes, joined(fault.more or "", more))


@dataclass(frozen=True)
class PartlyWritten(FindingKind):
    """`count` of `total` elements that no program writes, and what is wrong with the others."""

    name = "partly written"
    conclusive = True

    output: str
    case: str
    count: int
    total: int
    parts: tuple[Finding, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The missing elements, and the other mistake."""
        return ("never written", *self.parts[0].names)

    def wording(self) -> Wording:
        """How many elements, and the other mistake."""
        (other,) = self.parts
        return Wording(
            f"There are two mistakes. First: no program writes {self.count} of {self.total} elements of "
            f"{self.output} (case {self.case}). Second, in what is written: {other.sentence}",
            joined("Do the grid and the store's mask cover the whole output?", other.next_step),
        )


def steps(parts: tuple[Finding, ...]) -> str:
    """The next steps of several findings, each once."""
    return joined(*dict.fromkeys(part.next_step for part in parts))
