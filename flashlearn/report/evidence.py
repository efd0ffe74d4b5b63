"""What stands behind a verdict: what was seen, in which case, and how well the explanation fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashlearn.exercise import Kind
from flashlearn.outcome import Finding, Misfit, Outcome, Status
from flashlearn.report.units import dtype_name
from flashlearn.report.verdict_sentences import LONGEST_SENTENCE, shortened, sizes_of

if TYPE_CHECKING:
    from flashlearn.report import Report


def two_voices(finding: Finding, outcome: Outcome | None) -> tuple[str, str]:
    """The explanation, and what was seen, where the explanation is more than what was seen."""
    said, seen = finding.wording, shortened(outcome.message) if outcome else ""
    quoted = outcome is not None and said.quotes in (outcome.case.name, _misfit(outcome))
    if not seen or not quoted or said.more is None:
        return said.sentence, "" if quoted else seen
    if finding.kind.name == "besides":
        return seen, said.more  # no explanation of what was seen: it comes after it
    return (said.more, seen) if said.more else (seen, "")


def _misfit(outcome: Outcome) -> tuple[str, Misfit] | None:
    """The output that a case speaks of, and why it does not fit; None where it speaks of other things."""
    wrong = next((check for check in outcome.outputs if not check.ok), None)
    if wrong is None or wrong.misfit is None or outcome.fault or outcome.mode != "observed":
        return None
    return wrong.name, wrong.misfit


def in_full(message: str) -> str:
    """A message that is too long for a headline."""
    return message.strip() if len(message) > LONGEST_SENTENCE else ""


def support(report: Report, outcome: Outcome | None) -> str:
    """Which case this is about, how many pass, and how well the explanation fits."""
    total, passed = len(report.outcomes), sum(o.status is Status.PASS for o in report.outcomes)
    if outcome is None or (report.finding is not None and report.finding.kind.beyond_cases):
        return ""
    if total == 1:
        sizes = "" if report.exercise.kind is Kind.SYMBOLIC else sizes_of(outcome.case)
        about = f": {sizes}, {dtype_name(outcome.case.dtype)}" if sizes else ""
        return f"Seen in case {outcome.case.name}{about}."
    parts = [f"{passed} of {total} cases pass{'es' if passed == 1 else ''}"]
    left = left_out(report)
    if left:
        parts[0] += (
            f" ({'a slow one was' if left == 1 else f'{left} slow ones were'} left out: these say enough)"
        )
    if report.exercise.judged.says is None:  # else the finding names its cases
        seen = "Seen only" if passed == total - 1 else "First seen"
        parts.insert(0, f"{seen} in case {outcome.case.name}")
    fitting = _fitting(report)
    return "; ".join([*parts, fitting] if fitting else parts) + "."


def left_out(report: Report) -> int:
    """Cases that were not run, of a kernel that is slow and wrong in many others."""
    ran = {o.case.name for o in report.outcomes}
    stopped = any(o.status in (Status.TODO, Status.TIMEOUT, Status.CRASHED) for o in report.outcomes)
    kernel = report.exercise.kind is Kind.KERNEL and len(report.outcomes) > 1 and not stopped
    return sum(not case.gpu and case.name not in ran for case in report.exercise.cases) if kernel else 0


def _fitting(report: Report) -> str:
    """How many wrong cases the explanation fits, unless its sentence has said so."""
    finding = report.finding
    if finding is None or finding.of < 2 or _tells_share(finding):
        return ""
    wrong = sum(o.status is Status.WRONG for o in report.outcomes)
    which = "wrong cases" if finding.of == wrong else "cases it was tried on"
    share = "all" if finding.fits == finding.of else f"{finding.fits} of the"
    if wrong < finding.fits == len(report.outcomes):  # it was tried on the cases that pass as well
        return f"the explanation fits {share} {finding.of}: where a case passes, the mistake does not show"
    return f"the explanation fits {share} {finding.of} {which}"


def _tells_share(finding: Finding) -> bool:
    """True if the finding's sentence says how many wrong cases it explains."""
    scope = finding.facts.get("scope")
    told = scope is not None and scope.share == (finding.fits, finding.of)
    return told or any(map(_tells_share, finding.parts))
