"""How much of what fails the finding explains, and what remains: a clause for the evidence.

Nothing is claimed that was not compared. A finding explains the cases that pass with its repair; of one by
its numbers alone it is said that it gives them. An access that stops a case explains none of those that ran
to the end.
"""

from __future__ import annotations

from flashlearn.exercise import Kind
from flashlearn.explaining.findings.case_status import CaseStatus
from flashlearn.explaining.findings.counts import all_of, some_of
from flashlearn.explaining.findings.declared import Declared, DeclaredFault, Explained
from flashlearn.explaining.findings.edits import AndOneEdit, DeclaredInLine, EditAndMistake, OneEdit, TwoEdits
from flashlearn.explaining.findings.first_divergence import WithItsLine
from flashlearn.explaining.findings.launcher import LauncherFault, NothingLaunched
from flashlearn.explaining.findings.outputs import Outputs
from flashlearn.explaining.findings.symbolic import NotCompared
from flashlearn.explaining.findings.two_mistakes import AfterRepair, AtOnce, Besides, InFp32, RoundedBesides
from flashlearn.explaining.matching import has_wrong_numbers
from flashlearn.interpreter.cautions import OVERFLOW
from flashlearn.later import torch, types_of
from flashlearn.outcome import Caution, Finding, Outcome, Status
from flashlearn.report.data import CheckResult

AGAIN = "check again after fixing it"

OPEN = "there may be further mistakes: check again after fixing this one"

UNDEFINED = "NaN and infinities, which other mistakes produce as well"

UNWRITTEN = "elements that were never written, which other mistakes leave as well"

LARGE = "large tensors are tested only once every case passes"

DEMANDS = "what else the exercise demands is checked once every case passes"

STOPPED = (Status.CRASHED, Status.OUT_OF_BOUNDS, Status.RACE)


def explained_and_left(result: CheckResult) -> str:
    """How many of the failing cases the explanation fits, or what the others show; "" where that is said.

    >>> explained_and_left(result)
    'this reproduces the numbers of 14 of the 19 failing cases: check again after fixing it'
    """
    finding = result.finding
    if finding is None:
        return ""
    failing = [o for o in result.outcomes if o.status is not Status.PASS]
    if isinstance(finding.kind, Besides):
        return _of_those_that_ran(finding.parts[1], failing)
    if isinstance(finding.kind, RoundedBesides):
        return f"the first mistake fits {all_of(finding.of, 'failing case')}, rounding apart: {AGAIN}"
    if isinstance(finding.kind, CaseStatus):
        return _others(result.principal, failing)
    if isinstance(finding.kind, DeclaredFault) and not _ran(failing) and finding.fits == finding.of:
        return _nothing_after(failing)
    if not finding.fits:
        return OPEN if len(failing) > 1 and _leaves_open(finding) else ""
    if finding.of < 2 or _says_share(finding):
        return ""
    if finding.fits < finding.of:
        share = some_of(finding.fits, max(finding.of, len(failing)), "failing case")
        if _only_seen(finding):
            return f"{_what(finding)} was seen in {share}: {AGAIN}"
        symbolic = result.exercise.kind is Kind.SYMBOLIC  # equal formulas are compared, not numbers
        return f"{'this explains' if symbolic else _of_a_part(finding)} {share}: {AGAIN}"
    fits = _fits_all(finding, result, failing)
    if fits.endswith((AGAIN, OPEN)) or not (fits or _says_what_passes(finding)):
        return fits
    return "; ".join(filter(None, [fits, *_open_until_all_pass(result)]))


def _says_what_passes(finding: Finding) -> bool:
    """True if its sentence ends with an edit, and that all failing cases pass with it."""
    edit = finding.parts[-1].kind if isinstance(finding.kind, AndOneEdit | DeclaredInLine) else finding.kind
    return isinstance(edit, TwoEdits) or (isinstance(edit, OneEdit) and not edit.output)


def _what(finding: Finding) -> str:
    """What was seen: of what is said of several outputs a case may show a part."""
    several = isinstance(finding.kind, Outputs) and len(finding.parts) > 1
    return "at least a part of this" if several else "this"


def _of_a_part(finding: Finding) -> str:
    """What the finding has to do with some of the failing cases: it explains those that a repair made pass.

    Numbers that are the mistake's to within rounding may hold a smaller one besides, and a case that stops
    shows nothing of what comes after.
    """
    first = finding.parts[0] if isinstance(finding.kind, InFp32) else finding
    if isinstance(finding.kind, AfterRepair):
        return "this explains at least"
    if isinstance(finding.kind, DeclaredFault):
        return "this was seen in"
    if _is_declared(first) and not _was_tried(first):
        return "this reproduces the numbers of"
    return "this explains" if isinstance(first.kind, OneEdit) or _was_tried(first) else "this fits"


def _open_until_all_pass(result: CheckResult) -> list[str]:
    """What is looked at only once every case passes."""
    large, more = _large_are_open(result), result.exercise.judged.review is not None
    if large and more:
        return [f"{LARGE}, and so is what else the exercise demands"]
    return [LARGE] * large + [DEMANDS] * more


def _large_are_open(result: CheckResult) -> bool:
    """True if accesses out of bounds hide whether offsets also fit where tensors are large."""
    stopped = any(o.status is Status.OUT_OF_BOUNDS for o in result.outcomes)
    kinds = {one.kind for o in result.outcomes for one in o.warnings if isinstance(one, Caution)}
    return stopped and bool(result.exercise.judged.real_sizes) and OVERFLOW not in kinds


def _of_those_that_ran(second: Finding, failing: list[Outcome]) -> str:
    """How many of the cases that ran to the end the mistake beside a fault explains."""
    if second.of < 2 or _says_share(second):
        return ""
    stopped = sum(o.status is not Status.WRONG for o in failing)
    share = some_of(second.fits, second.of, "failing case")
    stop = "the one that stops" if stopped == 1 else f"the {stopped} that stop"
    return f"the second mistake explains {share} that run to the end; {stop} may show it too: {AGAIN}"


def _fits_all(finding: Finding, result: CheckResult, failing: list[Outcome]) -> str:
    """That the explanation fits all the cases that it was tried on, and which ones these are."""
    forms = [one.kind for one in (finding, *finding.parts) if isinstance(one.kind, NotCompared)]
    if any(form.rule != "transposed" for form in forms):
        return OPEN if len(failing) > 1 else ""  # it is about the case that it names
    if _only_seen(finding):
        seen = all_of(finding.of, "failing case")
        looked_at = " that were examined" if finding.of < len(failing) else ""
        return f"{_what(finding)} was seen in {seen}{looked_at}; {OPEN}"
    declared = _is_declared(finding) and result.exercise.kind is not Kind.SYMBOLIC
    declared_as = result.exercise.all_mistakes.get(finding.mistake)
    marked = declared_as is not None and declared_as.marked
    silent = sum(map(_has_no_numbers, failing)) if declared and not marked else 0
    gives = "reproduces the numbers of" if declared and not _was_tried(finding) else "explains"
    if _second_by_nan_alone(finding):
        return f"the only evidence for the second one is NaN and infinities: {AGAIN}"
    if silent and silent == len(failing):
        return f"the only evidence is {_without_numbers(failing)}: {AGAIN}"
    if len(failing) < finding.of == len(result.outcomes):  # it was tried on the cases that pass as well
        hidden = "the one that passes" if len(result.outcomes) - len(failing) == 1 else "those that pass"
        made = "mistakes make" if isinstance(finding.kind, AtOnce) else "mistake makes"
        difference = f"in {hidden}, the {made} no difference"
        known = _says_what_passes(finding)
        return difference if known else f"this {gives} {all_of(len(failing), 'failing case')}; {difference}"
    left = len(failing) - finding.of
    if left <= 0:
        known = _says_what_passes(finding)
        fits = "" if known else f"this {gives} {all_of(len(failing), 'failing case')}"
        only = _without_numbers([o for o in failing if _has_no_numbers(o)])
        poor = f"; in {silent} of them the only evidence is {only}: {AGAIN}"
        if silent:
            return fits + poor
        open_to_doubt = declared and not marked and not _was_tried(finding)
        beside = sum(map(_has_undefined, failing)) if open_to_doubt else 0
        return f"{fits}; {_in_so_many(beside, len(failing))} NaN or infinities: {AGAIN}" if beside else fits
    others = "the other one" if left == 1 else f"the other {left}"
    return f"this {gives} {all_of(finding.of, 'case')} that it was tested on; {others} could not be tested"


def _is_declared(finding: Finding) -> bool:
    """True for a mistake that gives just these numbers; what comes after it is fixed, they need not show."""
    if isinstance(finding.kind, WithItsLine):
        return _is_declared(finding.parts[0])
    return isinstance(finding.kind, Declared | AtOnce)


def _was_tried(finding: Finding) -> bool:
    """True if its line was found by an edit there, with which every case passes."""
    return isinstance(finding.kind, Declared) and finding.place is not None


def _second_by_nan_alone(finding: Finding) -> bool:
    """True if nothing but NaN and infinities speaks for the second of two mistakes."""
    if isinstance(finding.kind, AfterRepair | EditAndMistake) and len(finding.parts) == 2:
        second = finding.parts[1].kind
        return isinstance(second, Declared) and second.only_nan
    return any(map(_second_by_nan_alone, finding.parts))


def _only_seen(finding: Finding) -> bool:
    """True for a finding that says what was seen, where no repair has shown that it is all."""
    if any(one.kind.follows for one in (finding, *finding.parts)):
        return False
    kind = finding.kind
    return kind.observed or kind.vague or kind.hides or any(map(_only_seen, finding.parts))


def _leaves_open(finding: Finding) -> bool:
    """True for a finding that was compared with no case's numbers, and whose sentence names nothing left."""
    kind = finding.kind
    if finding.partial or kind.beyond_cases or isinstance(kind, LauncherFault | NothingLaunched | Explained):
        return False
    return not kind.conclusive and not any(one.kind.follows for one in (finding, *finding.parts))


def _ran(failing: list[Outcome]) -> bool:
    """True if one of the failing cases has numbers."""
    return any(o.status is Status.WRONG for o in failing)


def _nothing_after(failing: list[Outcome]) -> str:
    """That all failing cases stop, where there are several: no case shows what else may be wrong."""
    if len(failing) < 2:
        return ""
    lines = {one.place.line if one.place is not None else None for one in failing}
    where = "stop there" if len(lines) == 1 else "end early"
    stop = f"{all_of(len(failing), 'failing case')} {where}"
    return f"{stop}, so they show nothing about what comes after: {AGAIN}"


def _has_no_numbers(outcome: Outcome) -> bool:
    """True where nothing but NaN and infinities is wrong."""
    if outcome.status is not Status.WRONG or any(c.problem or has_wrong_numbers(c) for c in outcome.outputs):
        return False
    wrong = [c.got for c in outcome.outputs if not c.ok and isinstance(c.got, types_of("torch", "Tensor"))]
    return any(not bool(torch.isfinite(got.double()).all()) for got in wrong)  # else all are a little off


def _without_numbers(outcomes: list[Outcome]) -> str:
    """What is wrong in cases in which no number is: elements that are never written, or NaN that are."""
    wrong = [c for o in outcomes for c in o.outputs if not c.ok]
    never = all(
        c.writers is not None
        and c.writers.shape == c.got.shape
        and bool((torch.isfinite(c.got.double()) | (c.writers < 0)).all())
        for c in wrong
    )
    return UNWRITTEN if wrong and never else UNDEFINED


def _has_undefined(outcome: Outcome) -> bool:
    """True where NaN or infinities take the place of numbers: what gives them may be another mistake."""
    return any(
        not check.ok
        and isinstance(check.got, types_of("torch", "Tensor"))
        and check.got.shape == check.expected.shape
        and bool((~torch.isfinite(check.got.double()) & torch.isfinite(check.expected)).any())
        for check in outcome.outputs
        if not check.problem
    )


def _in_so_many(count: int, total: int) -> str:
    """How many of the cases hold something besides: the beginning of a clause."""
    if count == total:
        return "both hold" if total == 2 else "all of them hold"
    return f"{count} of them {'holds' if count == 1 else 'hold'}"


def _others(principal: Outcome | None, failing: list[Outcome]) -> str:
    """Where not every failing case stops as the one that is reported does: how the others fail."""
    if principal is None or principal.status not in STOPPED or len(failing) < 2:
        return ""
    alike = [o for o in failing if o.status in STOPPED and _line(o) == _line(principal)]
    wrong = sum(o.status is Status.WRONG for o in failing)
    elsewhere = len(failing) - len(alike) - wrong
    if not wrong and not elsewhere:
        return _nothing_after(failing)
    stop = "1 failing case stops" if len(alike) == 1 else f"{len(alike)} failing cases stop"
    seen = [f"{elsewhere} stop{'s' * (elsewhere == 1)} elsewhere"] if elsewhere else []
    if wrong:
        run = (
            "1 runs to the end but gives a wrong result"
            if wrong == 1
            else f"{wrong} run to the end but give wrong results"
        )
        seen.append(f"{run}, perhaps for another reason")
    return f"{stop} there; {' and '.join(seen)}: {AGAIN}"


def _line(outcome: Outcome) -> tuple[object, ...]:
    """Where a case stops: in which line of which file, or the kind of its end where that is not known."""
    place = outcome.place
    return (place.file, place.line) if place is not None else (outcome.status,)


def _says_share(finding: Finding) -> bool:
    """True if the finding's sentence says how many wrong cases it explains."""
    scope = getattr(finding.kind, "scope", None)
    says = scope is not None and scope.share == (finding.fits, finding.of)
    return says or any(map(_says_share, finding.parts))
