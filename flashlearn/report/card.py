"""The card: everything that a report shows, computed once, for all renderings.

Nothing here is text or HTML yet; what is here is strings, numbers and small tuples, so that the renderings
cannot disagree. What a learner needs is in the `verdict`; everything else is folded beneath it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashlearn.exercise import Exercise
from flashlearn.outcome import Outcome
from flashlearn.report.budgets import CompiledTable, compiled_of
from flashlearn.report.cases import CaseTable, case_table
from flashlearn.report.cautions import Note, notes_of
from flashlearn.report.data import CheckResult
from flashlearn.report.details import Details, details_of
from flashlearn.report.differences import DIFFERENCES, Difference
from flashlearn.report.error_map import ErrorMap
from flashlearn.report.evidence import Evidence, evidence_of
from flashlearn.report.small_output import SmallOutput, first_small
from flashlearn.report.tilemap import first_wrong
from flashlearn.report.times import Times, times_of
from flashlearn.report.tolerance import tolerance_note
from flashlearn.report.traffic import TrafficTable, traffic_of
from flashlearn.report.verdict import Verdict

if TYPE_CHECKING:
    from flashlearn.compiler import Budget


@dataclass(frozen=True)
class Card:
    """One report. Parts that have nothing to show are None, or empty.

    `numbers` are those of a wrong output that is small enough to be read; of a larger one there is the
    `error_map`. `budgets` are the figures of the `compiled` table, None as long as they are computed.
    `differences` between a check and a GPU are for an answer that passes. `unfolded` says whether short
    evidence and small outputs are shown at once: where no line of code is, there is room on the screen.
    """

    verdict: Verdict
    evidence: Evidence
    cases: CaseTable | None
    tolerance: str
    numbers: SmallOutput | None
    error_map: ErrorMap | None
    times: Times | None
    traffic: TrafficTable | None
    compiled: CompiledTable | None
    budgets: tuple[Budget, ...] | None
    differences: tuple[Difference, ...]
    cautions: tuple[Note, ...]
    details: Details
    unfolded: bool


def card_of(result: CheckResult, verdict: Verdict) -> Card:
    """The card of a result, of which the verdict has been computed."""
    numbers = first_small(result.exercise, result.outcomes)
    return Card(
        verdict=verdict,
        evidence=evidence_of(result, verdict.failing),
        cases=case_table(result),
        tolerance=tolerance_note(result),
        numbers=numbers,
        error_map=error_map_of(result.exercise, result.outcomes) if numbers is None else None,
        times=times_of(result),
        traffic=traffic_of(result),
        compiled=compiled_of(result),
        budgets=result.budgets_if_ready,
        differences=DIFFERENCES if result.passed else (),
        cautions=notes_of(result),
        details=details_of(result),
        unfolded=verdict.failing and verdict.where is None,
    )


def error_map_of(exercise: Exercise, outcomes: Iterable[Outcome]) -> ErrorMap | None:
    """The map of the first wrong output that can be compared element by element."""
    tiles = first_wrong(exercise, outcomes)
    return ErrorMap(tiles) if tiles is not None else None
