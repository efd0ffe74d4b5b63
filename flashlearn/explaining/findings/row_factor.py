"""Each row is the right one times a factor of its own: it was divided by a wrong sum, or by none."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flashlearn.explaining.findings.rule import SILENT, Clue, Rule, near
from flashlearn.outcome import Wording

Span = tuple[float, float]


@dataclass(frozen=True)
class RowFactor(Rule):
    """`factors` are the smallest and the largest; so are the `sums` of rows that should sum to 1."""

    name = "rows do not sum to 1"
    rank = 150
    hides = True

    output: str
    case: str
    factors: Span
    sums: Span | None

    @classmethod
    def look(cls, clue: Clue) -> RowFactor | object | None:
        """The factors, where every row has one and they differ."""
        got, expected = clue.got, clue.expected
        large = "large" in clue.outcome.case.tags
        if not clue.finite or got.ndim < 2 or got.shape[-1] < 3:
            return SILENT if clue.finite or large else None
        norm = (expected * expected).sum(-1)
        rows = norm > 0
        if not rows.any():
            return SILENT
        factors = (got * expected).sum(-1)[rows] / norm[rows]
        low, high = float(factors.min()), float(factors.max())
        if low < 1e-4:
            return SILENT if large else None
        size = float(expected.abs().max())
        if math.isclose(low, high, rel_tol=max(1e-3, 4 * clue.slack / size), abs_tol=1e-6):
            return SILENT  # one factor for all rows, up to rounding, has a rule of its own
        scale = max(1.0, abs(low), abs(high))
        if not near(got[rows], factors[:, None] * expected[rows], scale * clue.slack):
            return None
        if bool(got[~rows].any()):
            return None
        right, sums = expected.sum(-1)[rows], got.sum(-1)[rows]
        shares = bool(((right - 1).abs() < 1e-3).all())
        span = (float(sums.min()), float(sums.max())) if shares else None
        return cls(clue.name, clue.outcome.case.name, (low, high), span)

    def wording(self) -> Wording:
        """The sums where rows should sum to 1, else the factors."""
        if self.sums is not None:
            return Wording(
                f"The rows of {self.output} sum to {self.sums[0]:.3g} … {self.sums[1]:.3g} (case "
                f"{self.case}), not to 1; within a row the proportions are right: what is wrong "
                "is a factor of the whole row.",
                "What is each row divided by, or multiplied by, and what is that number made of?",
            )
        return Wording(
            f"Each row of {self.output} is the right one times a factor of its own, {self.factors[0]:.3g} to "
            f"{self.factors[1]:.3g} (case {self.case}): within a row the proportions are right.",
            "By what is each row multiplied, or divided, and what is that number made of?",
        )
