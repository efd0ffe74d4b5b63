"""`diagnose`: the stages for what went wrong, one after the other, and the finding that they leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining import formulas
from flashlearn.explaining.stage import Search, Stage, attempted, run
from flashlearn.outcome import Finding, Outcome
from flashlearn.running.answer import Answer, answering


def diagnose(
    exercise: Exercise, outcomes: list[Outcome], answer: Answer | Callable | None = None
) -> Finding | None:
    """The finding for a check that did not pass, or None if there is nothing sure to say.

    With the learner's `answer` at hand, suspicions can be tested by running it again. Only what is meant to
    end a check, an interrupt, comes through: of a stage that fails there is no finding, and a log entry.
    """
    answer = answering(exercise, answer) if answer is not None else None
    finding = run(_stages(exercise, outcomes), Search(exercise, outcomes, answer))
    return with_wording(exercise, finding)


def _stages(exercise: Exercise, outcomes: Sequence[Outcome]) -> Sequence[Stage]:
    if exercise.kind is Kind.SYMBOLIC:
        return formulas.FORMULAS
    from flashlearn.explaining import pipeline  # its stages need triton, which a formula does without

    return pipeline.stages_for(outcomes)


def with_wording(exercise: Exercise, finding: Finding | None) -> Finding | None:
    """The finding, or the first of its parts, that can be put into words."""
    if finding is None or attempted(exercise, "words", getattr, finding, "wording") is not None:
        return finding
    parts = (with_wording(exercise, part) for part in finding.parts)
    return next(filter(None, parts), None)
