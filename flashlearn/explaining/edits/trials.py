"""The trial for an exercise: cases decided by symbols, or by tensors."""

from __future__ import annotations

from collections.abc import Sequence

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining.edits.formula_trial import FormulaTrial
from flashlearn.explaining.edits.trial import Trial
from flashlearn.outcome import Outcome
from flashlearn.running.answer import Answer


def trial_of(exercise: Exercise, answer: Answer, outcomes: Sequence[Outcome], forms: bool = False) -> Trial:
    """The trial of an answer. With `forms` tensors of another shape or dtype are among what is put right."""
    if exercise.kind is Kind.SYMBOLIC:
        return FormulaTrial(exercise, answer, outcomes)
    from flashlearn.explaining.edits.verification import NumericTrial  # needs torch, which a formula does not

    return NumericTrial(exercise, answer, outcomes, forms)
