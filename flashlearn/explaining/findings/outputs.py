"""Findings about several outputs, one after the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from flashlearn.explaining.findings.rule import joined, labelled, listed_words
from flashlearn.outcome import Finding, FindingKind, Wording


@dataclass(frozen=True)
class EachOutput(FindingKind):
    """What holds of each output."""

    name = "each output"

    parts: tuple[Finding, ...]

    @property
    def conclusive(self) -> bool:  # type: ignore[override]
        """If all parts are."""
        return all(part.conclusive for part in self.parts)

    def wording(self) -> Wording:
        """One after the other."""
        return Wording(joined(*(part.sentence for part in self.parts)), by_output(self.parts))


@dataclass(frozen=True)
class Outputs(EachOutput):
    """The same, said once where only the output's name differs; of the outputs in `silent` nothing is
    known."""

    name = "outputs"

    silent: tuple[str, ...] = ()

    def wording(self) -> Wording:
        """One after the other."""
        first, *others = self.parts
        alike = [o for o in others if says_the_same(first, o) and not o.kind.about_input]
        names = listed_words([other.facts["output"] for other in alike])
        same = f"{names} show{'s' * (len(alike) == 1)} the same." if alike else ""
        more = _each_once([first, *(other for other in others if not says_the_same(first, other))])[1:]
        sentences = (first.sentence, same, *(_in_its_case(other, first) for other in more))
        rest = wrong_too(self.silent, of_a_case=any("case " in one for one in sentences))
        different = (first, *(other for other in others if other.names != first.names))
        return Wording(joined(*sentences, rest), by_output(different), first.wording.quotes, None)


def wrong_too(outputs: Sequence[str], of_a_case: bool = False) -> str:
    """That these outputs are wrong as well, whose names may be plurals or not; nothing if there are none.

    After sentences `of_a_case` they need not be wrong in that one.
    """
    if not outputs:
        return ""
    names, some = listed_words([f"`{output}`" for output in outputs]), ", in some cases" * of_a_case
    return f"The output{'s' * (len(outputs) > 1)} {names} {be(outputs)} wrong too{some}."


def be(names: Sequence[str]) -> str:
    """The verb for one name or several."""
    return "is" if len(names) == 1 else "are"


def _in_its_case(finding: Finding, first: Finding) -> str:
    """The sentence of a finding, with its case where the first one's is another and it names none."""
    case, sentence = str(finding.facts.get("case") or ""), finding.sentence
    if not case or case in sentence or first.facts.get("case", "") in ("", case):
        return sentence
    return f"{sentence.removesuffix('.')} (case “{case}”)."


def by_output(parts: Sequence[Finding]) -> str:
    """The next steps of the findings, each after the name of its output; first those that have none."""
    steps = [(str(part.facts.get("output") or ""), part.next_step) for part in parts]
    return labelled(*sorted(steps, key=lambda step: bool(step[0])))


def _each_once(findings: Sequence[Finding]) -> list[Finding]:
    """Without those about an input that say of it what another one has said."""
    kept: list[Finding] = []
    for finding in findings:
        if not finding.kind.about_input or not any(says_the_same(one, finding) for one in kept):
            kept.append(finding)
    return kept


def says_the_same(one: Finding, other: Finding) -> bool:
    """True if both would read the same of one output, whatever illustrates it."""
    if type(one.kind) is not type(other.kind):
        return False
    return _without_output(one.kind) == _without_output(other.kind)


def _without_output(kind: FindingKind) -> tuple[str, ...]:
    """What is said and asked, with a mark for the output's name, which may also be in what was made of it."""
    wording, name = _of_no_output(kind).wording(), re.escape(str(getattr(kind, "output", "…")))
    texts = (wording.sentence, wording.next_step)
    return tuple(re.sub(rf"\b{name}\b", "…", text) for text in texts)


def _of_no_output(kind: FindingKind) -> FindingKind:
    """The kind without its output's name, and without what illustrates it."""
    defaults = {field.name: field.default for field in fields(kind) if field.name in kind.illustrations}
    if hasattr(kind, "output"):
        defaults["output"] = "…"
    return replace(kind, **defaults) if defaults else kind
