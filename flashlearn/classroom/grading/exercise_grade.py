"""One exercise of one submission, from a sandboxed answer to its grade."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence

from flashlearn import checking
from flashlearn.classroom.grading.suspicious_code import SuspiciousUse
from flashlearn.classroom.records import AssignedExercise, ExerciseGrade
from flashlearn.classroom.sandbox.answer import SandboxedAnswer
from flashlearn.classroom.sandbox.child import CellError
from flashlearn.classroom.sandbox.readable_paths import PACKAGE
from flashlearn.course.answers import earlier_answer
from flashlearn.exercise import Exercise, Kind
from flashlearn.outcome import Outcome, Status
from flashlearn.report import Report

VERDICTS = {
    Status.PASS: "pass",
    Status.TODO: "todo",
    Status.TIMEOUT: "stopped",
    Status.UNDECIDED: "not graded",
    Status.NEEDS_GPU: "not graded",
}
"""All others are wrong."""
LONGEST = 2000
FEW, NEAR, LITTLE = 0.25, 2.0, 2e-4
"""Wrong numbers count as rounding in at most this share of the cases, if no error exceeds this multiple of
what is allowed, or this share of the largest right number: a sum of large numbers of both signs, as in a
softmax of scores beyond 100, is off by 1e-4 of it."""
NOISE = 1.5
"""How many times the allowed rms error an output in half precision may then have."""
MISSING = "There is no function {name} in the notebook."
ENDED = "The cell that defines {name} stopped before the definition: {why}"
UNREADABLE = "What {name} returned could not be read, so it was not graded."
HELD_FOR_REVIEW = (
    "Your numbers are right. {what} in your notebook goes beyond what an answer needs, so your teacher "
    "reviews it before it counts."
)
REMARK = "The numbers are right, but what computed them could not be observed reliably. It uses {all}."

UNCONFIRMED = (
    "Your numbers are right, but your kernels did not compute them by themselves when they ran without your "
    "launcher's Python, so your teacher reviews it before it counts. The launcher may allocate, copy, cast, "
    "reshape and launch."
)
DOUBT = "The numbers are right, but {doubt}."


def judged(
    exercise: Exercise, asked: AssignedExercise, child: SandboxedAnswer, at_home: Exercise
) -> ExerciseGrade:
    """Run, judge and explain a sandboxed answer. Whatever it sends, the result is a grade.

    `at_home` is the exercise with the inputs that a learner's own check draws. In a few cases rounding
    decides, and an answer that passes there may be slightly off elsewhere: that is no mistake.
    """
    started = time.monotonic()
    try:
        report = checking.grade(exercise, child, earlier_answer, budgeted=False)
        if exercise.kind is not Kind.SYMBOLIC and is_rounding(report.outcomes) and not child.ended:
            again = checking.grade(at_home, child, earlier_answer, budgeted=False)
            report = again if again.passed else report
        return _of_report(report, asked, time.monotonic() - started, child)
    except Exception as error:  # a child's invented data may fail anywhere; it is never worth a point
        return ExerciseGrade(
            asked.name,
            "not graded",
            0.0,
            asked.points,
            sentence=UNREADABLE.format(name=asked.name),
            mistake="unreadable",
            for_teacher=f"Judging it ended in {type(error).__name__}: {str(error)[:200]}",
            seconds=time.monotonic() - started,
        )


def missing(asked: AssignedExercise, trouble: CellError | None, line: str = "") -> ExerciseGrade:
    """The grade of an exercise without a function, with the error that kept its cell from defining one."""
    if trouble is None:
        sentence = MISSING.format(name=asked.name)
        return ExerciseGrade(asked.name, "missing", 0.0, asked.points, sentence=sentence, mistake="missing")
    sentence = ENDED.format(name=asked.name, why=trouble.sentence)
    return ExerciseGrade(
        asked.name,
        "missing",
        0.0,
        asked.points,
        sentence=clean(sentence),
        line_number=trouble.line,
        line=line,
        mistake="its cell fails",
    )


def held_for_review(grade: ExerciseGrade, uses: tuple[SuspiciousUse, ...]) -> ExerciseGrade:
    """A pass that a person must confirm: its observer may have been deceived."""
    first = uses[0]
    listed = ", ".join(dict.fromkeys(f"{one.what} (line {one.line})" for one in uses[:6]))
    what = first.what[:1].upper() + first.what[1:]
    return _held(grade, HELD_FOR_REVIEW.format(what=what), "reaches out", REMARK.format(all=listed))


def unconfirmed(grade: ExerciseGrade, doubt: str) -> ExerciseGrade:
    """A pass that a person must confirm: the answer's kernels did not compute the numbers by themselves."""
    return _held(grade, UNCONFIRMED, "not by its kernels", DOUBT.format(doubt=clean(doubt)))


def _held(grade: ExerciseGrade, sentence: str, mistake: str, remark: str) -> ExerciseGrade:
    return ExerciseGrade(
        grade.name,
        "not graded",
        0.0,
        grade.out_of,
        grade.cases_passed,
        grade.cases,
        sentence=sentence,
        mistake=mistake,
        for_teacher=remark,
        seconds=grade.seconds,
    )


def _of_report(
    report: Report, asked: AssignedExercise, seconds: float, child: SandboxedAnswer
) -> ExerciseGrade:
    head, status = report.verdict, report.status
    verdict = "stopped" if child.ended or _out_of_memory(report) else VERDICTS.get(status, "wrong")
    passed = status is Status.PASS
    declared = [case for case in report.exercise.cases if not case.gpu]
    right = min(sum(one.status is Status.PASS for one in report.outcomes), len(declared))
    marked = head.where.marked if head.where is not None else None
    failed = not passed
    return ExerciseGrade(
        asked.name,
        "pass" if passed else verdict,
        _points(asked, passed, right, len(declared)),
        asked.points,
        right,
        len(declared),
        sentence=clean(report.sentence) if failed else "",
        line_number=marked.number if marked is not None and failed else 0,
        line=marked.text.strip()[:200] if marked is not None and failed else "",
        next_step=clean(head.next_step) if failed else "",
        mistake=_mistake(report),
        seconds=seconds,
    )


def clean(text: str) -> str:
    """A text for a student: shortened, and without the paths of the grader's files."""
    for place in (str(PACKAGE.parent), sys.prefix, sys.base_prefix):
        text = text.replace(f"{place}/", "")
    return text[:LONGEST]


def _points(asked: AssignedExercise, passed: bool, right: int, cases: int) -> float:
    """All points for a pass; by the rule "share" a part of them where some cases are right, and not all."""
    if passed:
        return float(asked.points)
    if asked.rule != "share" or not cases or right == cases:
        return 0.0
    return asked.points * right / cases


def _mistake(report: Report) -> str:
    if report.passed:
        return ""
    return report.finding.mistake if report.finding is not None else report.status.value


def is_rounding(outcomes: Sequence[Outcome]) -> bool:
    """Whether all that is wrong are numbers slightly off, in a few of the cases.

    Then the learner's own inputs decide, which a submission may know: so the margins are small.
    """
    wrong = [one for one in outcomes if one.status is not Status.PASS]
    few = 0 < len(wrong) <= FEW * len(outcomes)
    return few and all(
        one.status is Status.WRONG and one.outputs and not one.fault and _close(one) for one in wrong
    )


def _close(outcome: Outcome) -> bool:
    if any(one.problem for one in outcome.outputs):
        return False
    finite = [one.expected[one.expected.isfinite()].abs() for one in outcome.outputs]
    largest = max((float(one.max()) for one in finite if one.numel()), default=0.0)
    return all(
        one.ok
        or (
            one.error <= max(NEAR * one.allowed, LITTLE * largest)
            and math.isfinite(one.error)
            and not one.rms_ratio > NOISE  # it is NaN where nothing bounds it
        )
        for one in outcome.outputs
    )


def _out_of_memory(report: Report) -> bool:
    return any(one.fault[:2] == ("crash", "MemoryError") for one in report.outcomes)
