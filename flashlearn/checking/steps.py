"""The steps of checking a formula, of which launchers have two as well: the review, and the explanation.

They need neither torch nor triton.
"""

from __future__ import annotations

from flashlearn.checking.check import Check, Step
from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining import diagnose
from flashlearn.explaining.findings.case_status import Undecided
from flashlearn.explaining.findings.review import Review
from flashlearn.explaining.stage import attempted, log_failure
from flashlearn.interpreter import printing
from flashlearn.judging import symbolic
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.running.evidence import Interrupted, Raised


def run_formula(check: Check) -> None:
    """Every case of a symbolic exercise."""
    check.outcomes = symbolic.run_symbolic(check.exercise, check.answer)
    check.watching(None)


def review(check: Check) -> None:
    """What the exercise says of an answer all of whose cases pass."""
    exercise, judged = check.exercise, check.exercise.judged
    if not (judged.review or judged.seen) or not check.passed:
        return
    try:
        sentence = judged.seen(check.outcomes) if judged.seen is not None else ""
        if not sentence and judged.review is not None:
            sentence = judged.review(check.answer, check.earlier)
    except Interrupted as error:
        check.outcomes.append(_interrupted(exercise, error.raised))
        check.settled = True
    except Exception as error:  # a review decides: one that fails has said neither yes nor no
        log_failure(exercise, "review")
        check.outcomes.append(undecided := _undecided(exercise, error))
        check.finding, check.settled = Finding(Undecided(undecided.message, undecided.case.name)), True
    else:
        if sentence:
            check.outcomes.append(Outcome(exercise.cases[0], Status.WRONG, sentence))
            check.finding, check.settled = Finding(Review(sentence, exercise.cases[0].name)), True


def explain(check: Check) -> None:
    """The verdict is decided before, and without it; of a kernel that passes there is nothing to explain."""
    if not check.settled and not (check.passed and check.exercise.kind is not Kind.SYMBOLIC):
        with printing.muted():  # the experiments run the kernel again, which has printed what it prints
            about = (check.exercise, check.outcomes, check.answer)
            check.finding = attempted(check.exercise, "explaining", diagnose, *about)


def _undecided(exercise: Exercise, error: Exception) -> Outcome:
    """The outcome of a review that failed unexpectedly."""
    return Outcome(
        exercise.cases[0],
        Status.UNDECIDED,
        "Every case passes, but the final review of your answer could not be completed "
        f"({type(error).__name__}: {str(error)[:120]}), so this is no pass yet.",
    )


def _interrupted(exercise: Exercise, error: Raised) -> Outcome:
    """The outcome of a call beyond the cases that was interrupted."""
    sentence = f"Every case passes, but called once more, with other inputs, it failed. {error.sentence}"
    return Outcome(exercise.cases[0], error.status, sentence, place=error.place, fault=error.fault)


REVIEW = Step("Where every case passes, let the exercise review the answer as a whole.", review)

EXPLAIN = Step("Explain what is wrong: the stages of flashlearn.explaining.", explain)

FORMULA_STEPS = (
    Step("Run the formula in every case, and judge each: right, wrong, or why it did not end.", run_formula),
    REVIEW,
    EXPLAIN,
)
"""The steps of a check of a symbolic exercise, in their order."""
