"""Which verdict it is, and what is said where nothing more is known: a sentence, and what comes next."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from flashlearn.exercise import Case, Kind
from flashlearn.outcome import Outcome, Status
from flashlearn.report.units import number, plural

if TYPE_CHECKING:
    from flashlearn.report import Report

GLYPHS = {Status.PASS: "✓", Status.TODO: "○", Status.NEEDS_GPU: "◇", Status.UNDECIDED: "◇"}
CALM = (Status.TODO, Status.NEEDS_GPU, Status.UNDECIDED)
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
    reviewed = report.finding is not None and report.finding.kind.beyond_cases
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
    return (shortened(outcome.message) if outcome else "") or UNSAID[report.status]


def sizes_of(case: Case) -> str:
    """A case's dimensions by name, and what is unusual about its data."""
    parts = [" ".join(f"{name}={size}" for name, size in case.sizes.items())]
    if case.layout != "contiguous":
        parts.append(case.layout)
    if case.magnitude != 1.0:
        parts.append(f"values ×{number(case.magnitude)}")
    return ", ".join(part for part in parts if part)


def shortened(message: str) -> str:
    """A message as a headline; an overlong one is cut at a word."""
    return textwrap.shorten(message, LONGEST_SENTENCE, placeholder=" …")


def _pass_sentence(report: Report) -> str:
    passed = [o for o in report.outcomes if o.status is Status.PASS]
    waiting = len(report.outcomes) - len(passed)
    subject = "The one case passes" if len(passed) == 1 else f"All {len(passed)} cases pass"
    if waiting:
        subject = f"{plural(len(passed), 'case')} pass{'es' if len(passed) == 1 else ''}"
    gpu = f" {plural(waiting, 'case')} more need{'s' if waiting == 1 else ''} a GPU." if waiting else ""
    return f"{subject}.{gpu}"


def _todo_sentence(whose: str, task: str, name: str) -> str:
    """What a stub says of itself; whose it is goes without saying where it is the exercise's own."""
    if whose != name:
        task = ": ".join(filter(None, (whose, task)))
    task = shortened(task)
    return f"Yours to write: {task}." if task else UNSAID[Status.TODO]


def next_step(report: Report) -> str:
    """What to look at, or to do."""
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
