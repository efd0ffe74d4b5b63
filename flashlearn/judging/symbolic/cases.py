"""Run a learner's function on the cases of a symbolic exercise and judge what it returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp
from sympy.matrices.matrixbase import MatrixBase

from flashlearn.exercise import Case, Exercise
from flashlearn.judging.similar_sentences import without_numbers
from flashlearn.judging.symbolic import formatting
from flashlearn.judging.symbolic.unreadable import SEQUENCES, Unreadable, reject_non_sympy, unexpected
from flashlearn.judging.symbolic.verdict import Verdict, judge
from flashlearn.outcome import Outcome, OutputCheck, Status
from flashlearn.running.answer import Answer, answering
from flashlearn.running.run_modes import PlainCall

MODE = "symbolic"
"""`Outcome.mode` of symbolic answers: nothing was observed, nothing compiled."""


def run_symbolic(exercise: Exercise, answer: Answer | Callable[..., Any]) -> list[Outcome]:
    """Call the function once per case and judge what it returns; a stub or a time-out ends the run."""
    outcomes: list[Outcome] = []
    for case in exercise.cases:
        outcomes.append(run_case(exercise, answer, case))
        if outcomes[-1].status in (Status.TODO, Status.TIMEOUT):
            break
    return outcomes


def run_case(exercise: Exercise, answer: Answer | Callable[..., Any], case: Case) -> Outcome:
    """One case: the learner's answer against the reference's."""
    started = time.perf_counter()
    given = arguments(exercise, case)
    expected = exercise.reference(**copies(given))
    answer = answering(exercise, answer)
    unfit = _call_mismatch(exercise, answer, given)
    if unfit:
        return _outcome(case, Status.CRASHED, started, unfit, like=without_numbers(unfit))
    evidence = answer.run(given, PlainCall(exercise.judged.time_limit))
    if evidence.raised is not None:
        error = evidence.raised
        more = {"place": error.place, "fault": error.fault, "like": without_numbers(error.sentence)}
        return _outcome(case, error.status, started, error.sentence, **more)
    checks, verdicts = _check_outputs(exercise, expected, evidence.returned, given)
    return _verdict_outcome(case, started, checks, verdicts)


def arguments(exercise: Exercise, case: Case) -> dict[str, Any]:
    """The function's arguments in a case: the drawn inputs that its signature names."""
    given = exercise.inputs(case, None)
    return {name: given[name] for name in exercise.parameters() if name in given} or given


def _outcome(case: Case, status: Status, started: float, message: str = "", **more: Any) -> Outcome:
    return Outcome(case, status, message, mode=MODE, seconds=time.perf_counter() - started, **more)


def _verdict_outcome(case: Case, started: float, checks: tuple, verdicts: Mapping[str, Verdict]) -> Outcome:
    named = len(verdicts) > 1
    warnings = tuple(dict.fromkeys(w for v in verdicts.values() for w in v.warnings))
    if all(v.ok for v in verdicts.values()):
        proofs = dict.fromkeys(v.detail for v in verdicts.values())
        return _outcome(
            case, Status.PASS, started, detail="; ".join(proofs), outputs=checks, warnings=warnings
        )
    wrong = {name: v for name, v in verdicts.items() if not v.ok}
    first, verdict = next(iter(wrong.items()))
    message = formatting.after_name(first, verdict.sentence) if named else verdict.sentence
    details = [formatting.after_name(n, v.sentence) for n, v in wrong.items() if n != first] + [
        v.detail for v in wrong.values() if v.detail
    ]
    status = Status.TIMEOUT if verdict.undecided else Status.WRONG
    return _outcome(
        case, status, started, message, detail="\n".join(details), outputs=checks, warnings=warnings
    )


def copies(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with matrices and lists copied, so that no call changes another's."""

    def copy(value: Any) -> Any:
        if isinstance(value, MatrixBase):
            return value.copy()
        if isinstance(value, list):
            return [copy(v) for v in value]
        return {k: copy(v) for k, v in value.items()} if isinstance(value, dict) else value

    return {name: copy(value) for name, value in given.items()}


def _call_mismatch(exercise: Exercise, answer: Answer, given: Mapping[str, Any]) -> str:
    """A sentence if the function cannot be called with the exercise's arguments at all."""
    facts = answer.facts()
    if not facts.callable:
        return (
            f"{formatting.short(facts.text, 40)} is not a function: pass the function itself, "
            f'check("{exercise.name}", {exercise.name}), without calling it.'
        )
    return answer.misfit(exercise.name, list(given))


def _check_outputs(
    exercise: Exercise, expected: Any, answer: Any, given: Mapping[str, Any]
) -> tuple[tuple[OutputCheck, ...], dict[str, Verdict]]:
    """One check and one verdict per output."""
    wanted = by_name(exercise, expected)
    if len(wanted) == 1:
        answers = dict.fromkeys(wanted, answer)
    elif (answers := by_name(exercise, answer)) is None:
        sentence = _count_mismatch(answer, wanted)
        verdict = Verdict(False, sentence, rule="wrong shape")
        checks = tuple(
            OutputCheck(n, False, problem=sentence, got=answer, expected=e, like=_like(verdict))
            for n, e in wanted.items()
        )
        return checks, {next(iter(wanted)): verdict}
    verdicts = {name: judge(e, answers[name], given) for name, e in wanted.items()}
    checks = tuple(
        OutputCheck(
            name,
            v.ok,
            problem=v.sentence if v.rule else "",
            got=answers[name],
            expected=wanted[name],
            like=_like(v),
        )
        for name, v in verdicts.items()
    )
    return checks, verdicts


def _like(verdict: Verdict) -> tuple:
    """A key for a verdict on an answer's form: equal for verdicts that differ only in numbers."""
    return (verdict.rule, *without_numbers(verdict.sentence)) if verdict.rule else ()


def _count_mismatch(answer: Any, wanted: Mapping[str, Any]) -> str:
    """A sentence for an answer whose number of values is not that of the outputs."""
    asked = f"{len(wanted)} values, {formatting.listed(list(wanted))}, are"
    try:
        reject_non_sympy(answer, tuple(wanted.values()))
    except Unreadable as error:
        return error.sentence
    return unexpected(answer, asked, f": return {', '.join(wanted)}.").sentence


def by_name(exercise: Exercise, value: Any) -> dict[str, Any] | None:
    """The values of several outputs by name; None if their number is wrong."""
    names = exercise.outputs
    if len(names) == 1:
        return {names[0]: value}
    if isinstance(value, (Mapping, sp.Dict)):
        named = {str(k): v for k, v in value.items()}
        return {n: named[n] for n in names} if set(names) == set(named) else None
    if isinstance(value, SEQUENCES) and len(value) == len(names):
        return dict(zip(names, value, strict=True))
    return None
