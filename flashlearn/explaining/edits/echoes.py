"""Whether the numbers after an edit are those of a known mistake: then the edit may take back another one.

Where two mistakes show in every case, no edit makes one right. But with one of them taken back, the numbers
of the smallest case are those that a declared mistake gives, or a multiple of the right ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from flashlearn.exercise import Exercise
from flashlearn.explaining.predictions import Outputs, Predictions
from flashlearn.later import torch
from flashlearn.outcome import Outcome

SAMPLE = 24
"""Numbers of an output that are compared first."""

MOST_PREDICTIONS = 160
"""So many ways of making a declared mistake are compared, each with the learner's tiles."""

MIN_NUMBERS = 16
"""A case with fewer numbers says too little."""

FACTOR_APART = 1e-3
"""By how much a factor must differ from 1 to be one."""


class Echoes:
    """What declared mistakes give in one wrong case, ready to be compared with many outputs."""

    def __init__(self, exercise: Exercise, outcome: Outcome):
        self.right = [check.expected for check in outcome.outputs]
        self.own = [check.got for check in outcome.outputs]
        self.allowed = [2 * check.allowed for check in outcome.outputs]
        self.enough = bool(self.right) and all(
            isinstance(x, torch.Tensor) and x.is_floating_point() for x in self.right
        )
        self.enough = self.enough and sum(x.numel() for x in self.right) >= MIN_NUMBERS
        self.predicted = self._predictions(exercise, outcome) if self.enough else []
        self.at = [_sample(x) for x in self.right] if self.enough else []
        self.samples = torch.stack([self._sampled(one) for one in self.predicted]) if self.predicted else None

    def _predictions(self, exercise: Exercise, outcome: Outcome) -> list[Outputs]:
        predictions = Predictions(exercise, [outcome])
        own = self.own
        found: list[Outputs] = []
        for candidate in (*predictions.candidates(), *predictions.catalogue()):
            if candidate.costly or len(found) >= MOST_PREDICTIONS:
                continue
            predicted = next(predictions.of(candidate, outcome), None)
            if predicted is not None and self._alike(predicted):
                known = self._near(predicted, self.right) or self._near(predicted, own)
                found += [] if known else [predicted]
        return found

    def hears(self, values: Sequence[object]) -> bool:
        """Whether these outputs are what a declared mistake gives, or right but for a factor of their own."""
        if not self.enough or not self._alike(values):
            return False
        sampled = self._sampled(values)
        if not bool(torch.isfinite(sampled).all()):
            return False
        if self._near(values, self.own):
            return False  # the edit has changed nothing
        return self._declared(values, sampled) or self._multiples(values)

    def _declared(self, values: Sequence[torch.Tensor], sampled: torch.Tensor) -> bool:
        if self.samples is None:
            return False
        limits = torch.cat(
            [
                torch.full((len(at),), one, dtype=torch.float64)
                for at, one in zip(self.at, self.allowed, strict=True)
            ]
        )
        close = ((self.samples - sampled).abs() <= limits).all(dim=1)
        return any(self._near(values, self.predicted[int(i)]) for i in close.nonzero())

    def _multiples(self, values: Sequence[torch.Tensor]) -> bool:
        """True if every output is a multiple of the right one, and not all of them are right."""
        apart = False
        for value, right, allowed in zip(values, self.right, self.allowed, strict=True):
            value, norm = value.double(), float((right * right).nan_to_num(0.0, 0.0, 0.0).sum())
            if not bool(torch.isfinite(right).all()) or not norm:
                return False
            factor = float((value * right).sum()) / norm
            if float((value - factor * right).abs().max()) > max(1.0, abs(factor)) * allowed:
                return False
            apart |= abs(factor - 1) > FACTOR_APART and abs(factor) > FACTOR_APART
        return apart

    def _alike(self, values: Sequence[object]) -> bool:
        """Whether the values have the shapes of the right ones."""
        shapes = [getattr(value, "shape", None) for value in values]
        return shapes == [x.shape for x in self.right]

    def _sampled(self, values: Sequence[torch.Tensor]) -> torch.Tensor:
        return torch.cat([x.flatten()[at].double() for x, at in zip(values, self.at, strict=True)])

    def _near(self, values: Sequence[torch.Tensor], others: Sequence[object]) -> bool:
        if not self._alike(others):
            return False
        pairs = zip(values, others, self.allowed, strict=True)
        return all(bool(((a == b) | ((a.double() - b.double()).abs() <= most)).all()) for a, b, most in pairs)


def _sample(x: torch.Tensor) -> torch.Tensor:
    count = x.numel()
    return torch.arange(min(count, SAMPLE)) * max(count - 1, 0) // max(min(count, SAMPLE) - 1, 1)
