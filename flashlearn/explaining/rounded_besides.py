"""A declared mistake explains the numbers, and in half precision they are rounded more than it rounds.

Where a mistake is large, the tolerance of its numbers hides that a sum is kept in half precision as well. The
rms distance to what the mistake gives is held to the bound that right answers have.
"""

from __future__ import annotations

import math

import torch

from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.edits import EditAndMistake
from flashlearn.explaining.findings.two_mistakes import AfterRepair, RoundedBesides
from flashlearn.explaining.predictions import Candidate, Predictions
from flashlearn.explaining.stage import Search
from flashlearn.judging.tolerance import root_mean_square
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status

BEYOND = 1.5
"""The distance must exceed the bound by this factor: the bound is that of right answers."""


def rounded_besides(search: Search) -> Finding | None:
    """The declared mistake that was found, and that there is rounding besides; None if none is seen."""
    finding = search.finding
    if finding is None or finding.partial or not 1 < finding.fits == finding.of:
        return None
    if len(finding.names) != 1 or isinstance(finding.kind, AfterRepair | EditAndMistake):
        return None  # what one of two mistakes gives alone says nothing of the rounding
    named = next((f for f in (finding, *finding.parts) if isinstance(f.kind, Declared)), None)
    mistake = search.exercise.all_mistakes.get(named.mistake) if named is not None else None
    if mistake is None or mistake.wrong is None or named.kind.scope is not None:
        return None
    predictions = Predictions(search.exercise, search.outcomes)
    ways = [
        Candidate((named.mistake,), tiled)
        for formula in (mistake.wrong, *mistake.also)
        for tiled in predictions.at_tiles(formula)
    ]
    for outcome in search.outcomes:
        if outcome.status is Status.WRONG and outcome.case.dtype.itemsize == 2:
            for number, check in enumerate(outcome.outputs):
                if _is_bounded(check) and _nearest(predictions, ways, outcome, number) > BEYOND:
                    kind = RoundedBesides(check.name, outcome.case.name, (finding,))
                    return Finding(kind, finding.place, finding.fits, finding.of)
    return None


def _is_bounded(check: OutputCheck) -> bool:
    """Whether right answers have a bound on the rms error here, and the answer has ordinary numbers."""
    if check.ok or check.problem or math.isnan(check.rms_ratio) or not isinstance(check.got, torch.Tensor):
        return False
    return bool(torch.isfinite(check.got).all() and torch.isfinite(check.expected).all())


def _nearest(predictions: Predictions, ways: list[Candidate], outcome: Outcome, number: int) -> float:
    """The least rms distance to what the mistake gives, as a multiple of what right answers may have."""
    check = outcome.outputs[number]
    got, right = check.got.double(), check.expected.double()
    sizes = root_mean_square(got), root_mean_square(right)
    bound = root_mean_square(got - right) / check.rms_ratio * max(1.0, sizes[0] / max(sizes[1], 1e-30))
    distances = [
        root_mean_square(got - predicted[number].double())
        for way in ways
        for predicted in predictions.of(way, outcome)
        if len(predicted) > number and predicted[number].shape == got.shape
    ]
    return min(distances, default=0.0) / max(bound, 1e-30)
