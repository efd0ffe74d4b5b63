"""What a report says, decided once for text and HTML: the verdict, the place, the next step.

Everything here is strings and small tuples, so that the two renderings cannot disagree.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashlearn.exercise import Case, Kind
from flashlearn.outcome import Caution, Finding, Misfit, Outcome, Status
from flashlearn.report.line import Where, where
from flashlearn.report.units import dtype_name, duration, number, plural

if TYPE_CHECKING:
    from flashlearn.report import Report

GLYPHS = {Status.PASS: "✓", Status.TODO: "○", Status.NEEDS_GPU: "◇", Status.UNDECIDED: "◇"}
CALM = (Status.TODO, Status.NEEDS_GPU, Status.UNDECIDED)
HINT_STEPS = ("the concept", "the shape of the answer", "the line")
LONGEST_SENTENCE = 360

UNSAID = {
    Status.TODO: "The stub is still in place.",
    Status.CRASHED: "Your code stopped with an error.",
    Status.TIMEOUT: "Your code did not finish within its time.",
    Status.OUT_OF_BOUNDS: "Your kernel touched memory outside a tensor.",
    Status.RACE: "Two programs touched the same memory, and one of them wrote.",
    Status.WRONG: "The result differs from the reference by more than rounding explains.",
    Status.NOT_YOURS: "The result is right, but your kernel did not compute it.",
    Status.UNDECIDED: "Every case passes, but the last look at the answer could not be finished.",
    Status.NEEDS_GPU: "This exercise runs only on a GPU, and there is none here.",
}
NEXT = {
    Status.CRASHED: "Read the message and the marked line first: other cases may stop there too.",
    Status.TIMEOUT: "Look for a loop whose end is never reached, or far more programs than blocks.",
    Status.OUT_OF_BOUNDS: "Compare the marked line's addresses with the tensor's size: does the mask fit?",
    Status.RACE: "Ask which program owns the element: give it one owner, or add atomically.",
    Status.WRONG: "Take the smallest failing case and compare your intermediate values with the formula's.",
    Status.NOT_YOURS: "Let the Triton kernel store every element of the result.",
    Status.UNDECIDED: "Check once more: what failed is kept, and `flashlearn doctor` shows it.",
    Status.NEEDS_GPU: "Read on: the lesson continues without it; check again on a machine with a GPU.",
}


@dataclass(frozen=True)
class HintOffer:
    """The call that gives the next hint, and how many are left."""

    call: str
    words: str


@dataclass(frozen=True)
class Note:
    """A caution that does not change the verdict, with the line it speaks of."""

    sentence: str
    where: Where | None


@dataclass(frozen=True)
class Headline:
    """The verdict and what belongs to it. `tone` is pass, fail or calm."""

    tone: str
    glyph: str
    word: str
    exercise: str
    title: str
    lesson: str
    sentence: str
    seen: str
    support: str
    signature: str
    detail: str
    where: Where | None
    next_step: str
    hint: HintOffer | None
    demo: bool
    footer: str
    warnings: tuple[Note, ...]
    stale: str
    notes: tuple[str, ...]


def status_of(outcomes: tuple[Outcome, ...]) -> Status:
    """The first status that applies; cases that need a GPU do not spoil a pass of the others."""
    statuses = {outcome.status for outcome in outcomes}
    if statuses == {Status.PASS, Status.NEEDS_GPU}:
        return Status.PASS
    return next((status for status in Status if status in statuses), Status.TODO)


def principal(report: Report) -> Outcome | None:
    """The first case that has the report's status: the one the report speaks about."""
    return next((outcome for outcome in report.outcomes if outcome.status is report.status), None)


def ran(report: Report) -> tuple[Outcome, ...]:
    """The outcomes that are cases. A review's complaint is the last one, after all of them, and is none."""
    reviewed = report.finding is not None and report.finding.kind in ("review", "undecided")
    return report.outcomes[:-1] if reviewed else report.outcomes


def sentence_of(report: Report) -> str:
    """The finding in one sentence, or else what happened in the first case that matters."""
    if report.finding is not None and report.status is not Status.PASS:
        return report.finding.sentence
    if report.status is Status.PASS:
        return _pass_sentence(report)
    outcome = principal(report)
    if outcome is not None and outcome.fault[:1] == ("todo",):
        return _todo_sentence(*outcome.fault[1:], report.exercise.name)
    return (_shortened(outcome.message) if outcome else "") or UNSAID[report.status]


def headline(report: Report) -> Headline:
    """All of a report's words that do not depend on measurements."""
    status, outcome, exercise = report.status, principal(report), report.exercise
    tone = "pass" if status is Status.PASS else "calm" if status in CALM else "fail"
    failing = tone == "fail"
    finding = report.finding if failing else None
    place = (finding.place if finding else None) or (outcome.place if outcome and failing else None)
    message = outcome.message if outcome and failing else ""
    sentence, seen = sentence_of(report), ""
    if finding is not None:
        sentence, seen = _two_voices(finding, outcome)
    if finding is not None and (exercise.judged.says is not None or finding.names[0] == "never written"):
        seen = ""  # the finding has said it: the case in other words, or what torch.empty held
    return Headline(
        tone=tone,
        glyph=GLYPHS.get(status, "✗"),
        word=status.value[:1].upper() + status.value[1:],
        exercise=exercise.name,
        title=exercise.title,
        lesson=exercise.lesson,
        sentence=sentence,
        seen=seen,
        support=_support(report, outcome) if failing else "",
        signature=f"{exercise.name}{exercise.signature}" if status is Status.TODO else "",
        detail="\n".join(
            part for part in (_in_full(message), outcome.detail if outcome else "") if part
        ).strip("\n"),
        where=where(place) if place else None,
        next_step=_next_step(report),
        hint=_hint(report) if failing or status is Status.TODO else None,
        demo=report.demo,
        footer=_footer(report),
        warnings=_warnings(report),
        stale=report.stale,
        notes=report.notes,
    )


def sizes_of(case: Case) -> str:
    """A case's dimensions by name, and what is unusual about its data."""
    parts = [" ".join(f"{name}={size}" for name, size in case.sizes.items())]
    if case.layout != "contiguous":
        parts.append(case.layout)
    if case.magnitude != 1.0:
        parts.append(f"values ×{number(case.magnitude)}")
    return ", ".join(part for part in parts if part)


def _pass_sentence(report: Report) -> str:
    passed = [o for o in report.outcomes if o.status is Status.PASS]
    waiting = len(report.outcomes) - len(passed)
    ratios = [c.error / c.allowed for o in passed for c in o.outputs if c.allowed > 0 and c.error == c.error]
    subject = "The one case passes" if len(passed) == 1 else f"All {len(passed)} cases pass"
    if waiting:
        subject = f"{plural(len(passed), 'case')} pass{'es' if len(passed) == 1 else ''}"
    closest = f"; the largest error is {number(100 * max(ratios))} % of what is allowed" if ratios else ""
    gpu = f" {plural(waiting, 'case')} more need{'s' if waiting == 1 else ''} a GPU." if waiting else ""
    return f"{subject}{closest}.{gpu}"


def _todo_sentence(whose: str, task: str, name: str) -> str:
    """What a stub says of itself; whose it is goes without saying where it is the exercise's own."""
    if whose != name:
        task = ": ".join(filter(None, (whose, task)))
    task = _shortened(task)
    return f"Yours to write: {task}." if task else UNSAID[Status.TODO]


def _shortened(message: str) -> str:
    """A message as a headline; an overlong one is cut at a word."""
    return textwrap.shorten(message, LONGEST_SENTENCE, placeholder=" …")


def _two_voices(finding: Finding, outcome: Outcome | None) -> tuple[str, str]:
    """The explanation, and what was seen, where the explanation is more than what was seen."""
    said, seen = finding.said, _shortened(outcome.message) if outcome else ""
    quoted = outcome is not None and said.quotes in (outcome.case.name, _misfit(outcome))
    if not seen or not quoted or said.more is None:
        return said.sentence, "" if quoted else seen
    if finding.kind == "besides":
        return seen, said.more  # no explanation of what was seen: it comes after it
    return (said.more, seen) if said.more else (seen, "")


def _misfit(outcome: Outcome) -> tuple[str, Misfit] | None:
    """The output that a case speaks of, and why it does not fit; None where it speaks of other things."""
    wrong = next((check for check in outcome.outputs if not check.ok), None)
    if wrong is None or wrong.misfit is None or outcome.fault or outcome.mode != "observed":
        return None
    return wrong.name, wrong.misfit


def _in_full(message: str) -> str:
    """A message that is too long for a headline."""
    return message.strip() if len(message) > LONGEST_SENTENCE else ""


def _support(report: Report, outcome: Outcome | None) -> str:
    """Which case this is about, how many pass, and how well the explanation fits."""
    total, passed = len(report.outcomes), sum(o.status is Status.PASS for o in report.outcomes)
    if outcome is None or (report.finding is not None and report.finding.kind == "review"):
        return ""
    if total == 1:
        sizes = "" if report.exercise.kind is Kind.SYMBOLIC else sizes_of(outcome.case)
        about = f": {sizes}, {dtype_name(outcome.case.dtype)}" if sizes else ""
        return f"Seen in case {outcome.case.name}{about}."
    parts = [f"{passed} of {total} cases pass{'es' if passed == 1 else ''}"]
    left = _left_out(report)
    if left:
        parts[0] += (
            f" ({'a slow one was' if left == 1 else f'{left} slow ones were'} left out: these say enough)"
        )
    if report.exercise.judged.says is None:  # else the finding names its cases
        seen = "Seen only" if passed == total - 1 else "First seen"
        parts.insert(0, f"{seen} in case {outcome.case.name}")
    fitting = _fitting(report)
    return "; ".join([*parts, fitting] if fitting else parts) + "."


def _left_out(report: Report) -> int:
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
    return f"the explanation fits {share} {finding.of} {which}"


def _tells_share(finding: Finding) -> bool:
    """True if the finding's sentence says how many wrong cases it explains."""
    scope = finding.facts.get("scope")
    told = scope is not None and scope.share == (finding.fits, finding.of)
    return told or any(map(_tells_share, finding.parts))


def _next_step(report: Report) -> str:
    if report.status is Status.PASS:
        return "" if report.demo or report.stale else report.follows
    if report.finding is not None and report.finding.next_step:
        return report.finding.next_step
    if report.status is Status.WRONG and report.exercise.kind is Kind.SYMBOLIC:
        return _symbolic_step(report)
    return NEXT.get(report.status, "")


def _symbolic_step(report: Report) -> str:
    """There is a small example to work through only where the answer could be compared."""
    outcome = principal(report)
    wrong = [check for check in outcome.outputs if not check.ok] if outcome is not None else []
    if all(check.problem for check in wrong):
        return "Mend this first: only then can the answer be compared with what is right."
    return "Work the small example through by hand, and see at which step the two part."


def _hint(report: Report) -> HintOffer | None:
    if report.demo:
        return None
    left = len(HINT_STEPS) - report.hints_taken
    call = f'flashlearn.hint("{report.exercise.name}")'
    if left <= 0:
        return HintOffer(call, "all three hints are taken; this says where the solution is")
    words = {3: "three hints left", 2: "two hints left", 1: "one hint left"}[left]
    return HintOffer(call, f"{words}; the next one gives {HINT_STEPS[-left]}")


def _footer(report: Report) -> str:
    mode = "compiled, on the GPU" if report.mode == "compiled" else "observed, on the CPU"
    if report.exercise.kind is Kind.SYMBOLIC:
        mode = "decided symbolically"
    elif report.exercise.kind is Kind.TORCH and report.mode != "compiled":
        mode = "on the CPU"
    parts = [] if report.status in CALM else [plural(len(ran(report)), "case"), mode]
    return ", ".join(parts) + (f", {duration(report.seconds, 2)}" if parts and report.seconds else "")


def _warnings(report: Report) -> tuple[Note, ...]:
    """One note for each kind of caution and line, whichever case saw it first."""
    found: dict[tuple, Note] = {}
    for outcome in report.outcomes:
        for said in (*outcome.warnings, *(outcome.observation.warnings if outcome.observation else ())):
            caution = said if isinstance(said, Caution) else Caution("", said)
            place = caution.place
            key = (caution.kind, place.file, place.line) if place else (caution.kind, caution.sentence)
            if key not in found:
                found[key] = Note(caution.sentence, where(place) if place else None)
    return tuple(found.values())
