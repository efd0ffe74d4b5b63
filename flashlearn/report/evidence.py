"""The evidence for a verdict: what was observed, in which case, and how well the explanation fits."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flashlearn.exercise import Kind
from flashlearn.interpreter.cautions import BESIDE, GRID_AXIS, OVERFLOW, TF32
from flashlearn.outcome import Caution, Finding, Misfit, Outcome, Status
from flashlearn.report.data import CheckResult
from flashlearn.report.remainder import explained_and_left
from flashlearn.report.units import dtype_name, sizes_of
from flashlearn.report.verdict_sentences import LONGEST_SENTENCE, shortened, with_its_case

FEW_LINES = 6  # of a detail: shown unfolded where there is no line of code


@dataclass(frozen=True)
class Evidence:
    """What was observed, in which cases and how well the explanation fits, and what was reported in full."""

    observation: str
    support: str
    detail: str

    def __bool__(self) -> bool:
        return bool(self.observation or self.support or self.detail)

    @property
    def has_a_short_detail(self) -> bool:
        """True if the detail has a few lines, and not none."""
        lines = self.detail.count("\n") + bool(self.detail)
        return 0 < lines <= FEW_LINES


def evidence_of(result: CheckResult, failing: bool) -> Evidence:
    """The evidence for the sentence of a verdict; `failing` if something is wrong."""
    outcome, finding = case_of_evidence(result), result.finding if failing else None
    observation = _unsaid(*explanation_and_observation(finding, outcome)) if finding is not None else ""
    if finding is not None and (
        result.exercise.judged.says is not None or finding.names[0] == "never written"
    ):
        observation = ""  # the finding says it already: the case in other words, or the values of torch.empty
    elif outcome is not None:
        observation = with_its_case(result, observation, outcome.case.name)
    message = outcome.message if outcome and failing else ""
    in_full = message.strip() if len(message) > LONGEST_SENTENCE else ""
    if in_full and finding is not None and in_full in finding.sentence:
        in_full = ""  # the headline has all of it
    elif observation and in_full.startswith(observation):
        observation, in_full = in_full, ""
    return Evidence(
        observation=_with_its_line(observation, finding, outcome),
        support=support(result, outcome) if failing else "",
        detail="\n".join(filter(None, (in_full, outcome.detail if outcome else ""))).strip("\n"),
    )


def _with_its_line(observation: str, finding: Finding | None, outcome: Outcome | None) -> str:
    """What was observed, with the number of "this line" where the report shows another one."""
    at, shown = outcome and outcome.place, finding and finding.place
    if not at or not shown or at.line == shown.line:
        return observation
    return re.sub(r"\bin this line\b", f"in line {at.line}", observation)


def case_of_evidence(result: CheckResult) -> Outcome | None:
    """The case that the evidence is about: the first that failed, or one in which the finding holds.

    The two differ where the finding explains a part of the failing cases, and names a case of its own.
    """
    first, finding = result.principal, result.finding
    if first is None or finding is None or (finding.of > 1 and finding.fits >= finding.of):
        return first
    named = getattr(finding.kind, "case", "") or _case_of_scope(finding)
    own = (o for o in result.outcomes if o.case.name == named and o.status is result.status)
    return next(own, first)


def _case_of_scope(finding: Finding) -> str:
    """A case that a mistake explains which explains a part of them; "" if it explains all."""
    scopes = (getattr(one.kind, "scope", None) for one in (finding, *finding.parts))
    return next((scope.case for scope in scopes if scope is not None and scope.case), "")


def explanation_and_observation(finding: Finding, outcome: Outcome | None) -> tuple[str, str]:
    """The explanation, and what was observed, where the explanation says more than what was observed."""
    wording, seen = finding.wording, shortened(outcome.message) if outcome else ""
    quoted = outcome is not None and wording.quotes in (outcome.case.name, _misfit(outcome))
    if not seen or not quoted or wording.more is None:
        return wording.sentence, "" if quoted else seen
    return (wording.more, seen) if wording.more else (seen, "")


def _unsaid(explanation: str, observation: str) -> str:
    """The sentences of an observation that the explanation does not quote."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z`])", observation)
    left = " ".join(sentence for sentence in sentences if sentence not in explanation)
    output = re.match(r"\w+: ", observation)
    return f"{output[0]}{left}" if left and output and not left.startswith(output[0]) else left


def _misfit(outcome: Outcome) -> tuple[str, Misfit] | None:
    """The output that a case's message is about, and why it does not fit; None for other messages."""
    wrong = next((check for check in outcome.outputs if not check.ok), None)
    if wrong is None or wrong.misfit is None or outcome.fault or outcome.mode != "observed":
        return None
    return wrong.name, wrong.misfit


def support(result: CheckResult, outcome: Outcome | None) -> str:
    """Which case this is about, how many pass, and how well the explanation fits."""
    total, passed = len(result.outcomes), sum(o.status is Status.PASS for o in result.outcomes)
    if outcome is None or result.reviewed:
        return ""
    if total == 1:
        sizes = "" if result.exercise.kind is Kind.SYMBOLIC else sizes_of(outcome.case)
        about = f": {sizes}, {dtype_name(outcome.case.dtype)}" if sizes else ""
        return f"Seen in case “{outcome.case.name}”{about}."
    parts = [f"{passed} of {total} cases pass{'es' if passed == 1 else ''}"]
    skipped = skipped_cases(result)
    if skipped:
        parts[0] += f" ({'one slow case was' if skipped == 1 else f'{skipped} slow cases were'} skipped)"
    if result.exercise.judged.says is None:  # else the finding names its cases
        seen = "Seen only" if passed == total - 1 else "First seen"
        if outcome is not next((o for o in result.outcomes if o.status is not Status.PASS), None):
            seen = "Seen"
        parts.insert(0, f"{seen} in case “{outcome.case.name}”")
    fit = explained_and_left(result)
    text = "; ".join([*parts, fit] if fit else parts) + "."
    return " ".join([text, *_beside(result)])


BESIDES = {
    TF32: "multiplies fp32 tiles in TF32 on a GPU",
    OVERFLOW: "computes offsets in 32 bits, which is too few for large tensors",
    GRID_AXIS: "has all heads on one axis of the grid, which has no room for many of them",
}
"""What a line does that no case shows, by the kind of the caution."""


def _beside(result: CheckResult) -> list[str]:
    """What is to be put right besides, whatever the cases show: each in a sentence."""
    seen = {}
    for outcome in result.outcomes:
        for caution in (*outcome.warnings, *(outcome.observation.warnings if outcome.observation else ())):
            line = caution.place.line if isinstance(caution, Caution) and caution.place else None
            if line and caution.kind in BESIDES:
                what = BESIDES[caution.kind]
                seen[caution.kind, line] = f"Besides, line {line} {what}: see the note below."
            elif isinstance(caution, Caution) and caution.kind == BESIDE:
                seen[caution.kind, 0] = f"Besides, {_continued(caution.sentence)}"
    return list(seen.values())


def _continued(sentence: str) -> str:
    """A sentence after a word that begins it; it may also begin with a name."""
    return sentence[0].lower() + sentence[1:] if sentence.startswith(("The ", "Given ")) else sentence


def skipped_cases(result: CheckResult) -> int:
    """How many cases were not run, of a kernel that is slow and wrong in many others."""
    ran = {outcome.case.name for outcome in result.outcomes}
    stopped = any(o.status in (Status.TODO, Status.TIMEOUT, Status.CRASHED) for o in result.outcomes)
    kernel = result.exercise.kind is Kind.KERNEL and len(result.outcomes) > 1 and not stopped
    return sum(not case.gpu and case.name not in ran for case in result.exercise.cases) if kernel else 0
