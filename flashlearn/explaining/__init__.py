"""From outcomes to the one sentence that names the mistake.

`pipeline` lists the stages of the search, `findings` has the kinds of what they find.
"""

from __future__ import annotations

from collections.abc import Callable

from flashlearn.exercise import Exercise
from flashlearn.explaining import pipeline
from flashlearn.explaining.failures import attempted
from flashlearn.outcome import Finding, Outcome
from flashlearn.running.answer import Answer, answering

__all__ = ["diagnose", "with_wording"]


def diagnose(
    exercise: Exercise, outcomes: list[Outcome], answer: Answer | Callable | None = None
) -> Finding | None:
    """The finding for a check that did not pass, or None if there is nothing sure to say.

    With the learner's `answer` at hand, suspicions can be tested by running it again. Only what is meant to
    end a check, an interrupt, comes through: of a stage that fails there is no finding, and a log entry.
    """
    answer = answering(exercise, answer) if answer is not None else None
    stages = pipeline.stages_for(exercise, outcomes)
    finding = pipeline.run(stages, pipeline.Search(exercise, outcomes, answer))
    return with_wording(exercise, finding)


def with_wording(exercise: Exercise, finding: Finding | None) -> Finding | None:
    """The finding, or the first of its parts, that can be put into words."""
    if finding is None or attempted(exercise, "words", getattr, finding, "wording") is not None:
        return finding
    parts = (with_wording(exercise, part) for part in finding.parts)
    return next(filter(None, parts), None)
