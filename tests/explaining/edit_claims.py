"""The claims of edits in a report, recomputed: the answer runs with them in every case and is judged.

Nothing of the search is used, but the text that a finding says it has tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flashlearn.exercise import Exercise
from flashlearn.explaining.findings.edits import EditAndMistake, OneEdit, TwoEdits
from flashlearn.explaining.findings.two_mistakes import AfterRepair, ByPrecision, InFp32
from flashlearn.explaining.repaired import Repaired
from flashlearn.judging.cases import run_observed
from flashlearn.outcome import Finding, FindingKind, Outcome, Status
from flashlearn.running.answer import Answer

PAIRS = (AfterRepair, TwoEdits, EditAndMistake)
HALVES = (ByPrecision, InFp32)


@dataclass(frozen=True)
class Claim:
    """An edit in a report, and the finding of several mistakes of which it is part `number`, if any."""

    edit: OneEdit
    of: FindingKind | None = None
    number: int = 0


def claims(finding: Finding, of: FindingKind | None = None, number: int = 0) -> Iterator[Claim]:
    """Every edit in a finding."""
    kind = finding.kind
    if isinstance(kind, OneEdit):
        yield Claim(kind, of, number)
    for i, part in enumerate(finding.parts):
        yield from claims(part, *((kind, i) if isinstance(kind, PAIRS + HALVES) else (of, number)))


def false_claims(
    exercise: Exercise, answer: Answer, outcomes: Sequence[Outcome], finding: Finding
) -> list[str]:
    """What the report says of its edits and is not true; each with the edit."""
    found = []
    for claim in claims(finding):
        before = [o for o in outcomes if o.mode == "observed"]
        texts = _texts(claim)
        if texts is None or not before:
            continue
        after = _with(exercise, answer, texts, before)
        found += [f"{claim.edit.change()} {what}" for what in _false(claim, exercise, answer, before, after)]
    return found


def _texts(claim: Claim) -> list[tuple[int, str]] | None:
    """The sections that were tried; None for an edit of a copy that no edit made."""
    first = claim.of.parts[0] if isinstance(claim.of, PAIRS) and claim.number else None
    if first is None:
        return [claim.edit.tried]
    return [first.kind.tried, claim.edit.tried] if isinstance(first.kind, OneEdit) else None


def _with(
    exercise: Exercise, answer: Answer, texts: list[tuple[int, str]], before: Sequence[Outcome]
) -> list[Outcome]:
    numbers = {section.line: i for i, section in enumerate(answer.sections())}
    edited = Repaired(answer, tuple({numbers[line]: text for line, text in texts}.items()))
    return [run_observed(exercise, edited, outcome.case) for outcome in before]


def _false(
    claim: Claim, exercise: Exercise, answer: Answer, before: Sequence[Outcome], after: Sequence[Outcome]
) -> Iterator[str]:
    pairs = list(zip(before, after, strict=True))
    failing = [(old, new) for old, new in pairs if old.status is not Status.PASS]
    passing = [old for old, new in failing if new.status is Status.PASS]
    first_of_two = isinstance(claim.of, PAIRS) and not claim.number
    if not isinstance(claim.of, TwoEdits) or not first_of_two:
        yield from _spoilt(pairs)
    if claim.edit.output:
        names = claim.edit.output.split(" and ")
        wrong = {c.name for _, new in pairs for c in new.outputs if not c.ok}
        if {*names} & wrong or not all(new.outputs for _, new in pairs):
            yield f"does not make {claim.edit.output} right"
    elif isinstance(claim.of, EditAndMistake) and first_of_two:
        if not all(new.status in (Status.PASS, Status.WRONG) for _, new in pairs):
            yield "does not let every case run to completion"
    elif first_of_two:
        said = claim.of.repaired if isinstance(claim.of, AfterRepair) else claim.of.reached
        total = claim.of.failing if isinstance(claim.of, AfterRepair) else claim.of.cases
        if (said, total) != (len(passing), len(failing)):
            yield f"makes {len(passing)} of {len(failing)} cases pass, not {said} of {total}"
    elif isinstance(claim.of, HALVES):
        full = [old for old, _ in failing if (old.case.dtype.itemsize > 2) is (claim.number == 0)]
        if not all(old in passing for old in full) or claim.edit.cases != len(full):
            yield f"does not make the {claim.edit.cases} cases of that precision pass"
    else:
        yield from _not_all(claim, failing, passing)


def _not_all(
    claim: Claim, failing: Sequence[tuple[Outcome, Outcome]], passing: Sequence[Outcome]
) -> Iterator[str]:
    if len(passing) != len(failing):
        yield f"makes {len(passing)} of {len(failing)} failing cases pass"
    if not claim.number and claim.edit.cases != len(failing):
        yield f"speaks of {claim.edit.cases} failing cases, of which there are {len(failing)}"


def _spoilt(pairs: Sequence[tuple[Outcome, Outcome]]) -> Iterator[str]:
    """Right cases that have become wrong, and right outputs of others."""
    for old, new in pairs:
        if old.status is Status.PASS and new.status is not Status.PASS:
            yield f"makes case {old.case.name} wrong"
        for one, other in zip(old.outputs, new.outputs, strict=False):
            if one.ok and not other.ok and old.status is not Status.PASS:
                yield f"makes {one.name} wrong in case {old.case.name}"
