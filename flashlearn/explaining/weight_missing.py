"""Visible pairs that get no weight: keys or queries that are left out, or a part of the pairs."""

from __future__ import annotations

from torch import Tensor

from flashlearn.explaining.findings.missing_weights import (
    DiagonalKeysMissing,
    FirstKeysMissing,
    FirstQueriesMissing,
    LastKeysMissing,
    LastQueriesMissing,
    PairsMissing,
)
from flashlearn.explaining.read_weights import Weights
from flashlearn.outcome import Finding, Outcome

LARGE = 1e-2
"""A weight of this size has none if it is 0 to within rounding; a smaller one may be a power of itself."""


def find_missing(w: Weights, outcome: Outcome) -> Finding | None:
    """No weight where there must be some: whole keys or queries, the end of every row, or single pairs."""
    missing, telling = w.missing, w.telling
    if not bool(missing.any()) or bool((missing == telling).all()):
        return None  # where nothing gets weight another case shows more
    case = outcome.case.name
    columns, rows = missing.any(0), missing.any(1)
    if bool((missing == (telling & columns[None, :])).all()) and (
        found := _missing_keys(w, telling, columns, outcome)
    ):
        return found
    if bool((missing == (telling & rows[:, None])).all()):
        return _missing_rows(w, telling, rows, case)
    partly = (missing & (telling & ~missing).any(1)[:, None]).nonzero()
    if not bool(w.visible.all()) and len(partly) and _only_last_keys(w, missing, telling):
        return Finding(DiagonalKeysMissing((int(partly[0][0]), int(partly[0][1])), case))
    return None


def find_pairs(w: Weights, outcome: Outcome) -> Finding | None:
    """Single pairs without weight, of which some should have much."""
    missing = w.missing
    if not bool((missing & (w.right > LARGE)).any()) or bool((missing == w.telling).all()):
        return None
    i, j = (int(x) for x in missing.nonzero()[0])
    future = not bool(missing.tril(w.got.shape[1] - w.got.shape[0]).any())
    rows, columns = missing.any(1), missing.any(0)
    lines, count = "", int(missing.sum())
    if bool((missing == (w.telling & rows[:, None])).all() and w.silent[rows].all()):
        lines, count = "query", int(rows.sum())
    elif bool((missing == (w.telling & columns[None, :])).all() and w.silent[:, columns].all()):
        lines, count, j = "key", int(columns.sum()), int(columns.nonzero()[0])
    return Finding(PairsMissing(outcome.case.name, count, (i, j), future, lines))


def _missing_keys(w: Weights, telling: Tensor, columns: Tensor, outcome: Outcome) -> Finding | None:
    """Whole keys from some tile on, or up to some tile."""
    if not bool(w.silent[:, columns].all()):
        return None
    first, last = int(columns.nonzero()[0]), int(columns.nonzero()[-1])
    informative = telling.any(0).nonzero().flatten()
    how = (outcome.case.name, w.scans == "keys", _counted(outcome), _unread(w, 0, columns))
    if first > 0 and w.tile_at(first) and bool(columns[informative][informative >= first].all()):
        return Finding(LastKeysMissing(first, *how))
    if w.tile_at(last + 1) and bool(columns[informative][informative <= last].all()):
        return Finding(FirstKeysMissing(last, *how))
    return None


def _counted(outcome: Outcome) -> bool:
    """True where LSE is right: then every key was read, and counted in it."""
    return any(check.name == "lse" and check.ok for check in outcome.outputs)


def _unread(w: Weights, side: int, missing: Tensor) -> tuple[str, ...] | None:
    """The inputs that no program reads for the missing keys (side 0) or queries (1); None if unknown."""
    if not w.unread[side]:
        return None
    return tuple(name for name, rows in w.unread[side].items() if bool(rows[missing].all()))


def _missing_rows(w: Weights, telling: Tensor, rows: Tensor, case: str) -> Finding | None:
    informative = telling.any(1).nonzero().flatten()
    first, last = int(rows.nonzero()[0]), int(rows.nonzero()[-1])
    if bool(rows[informative].all()) or not bool(w.silent[rows].all()):
        return None
    how = (case, w.scans == "queries", _unread(w, 1, rows))
    if w.tile_at(first) and bool(rows[informative][informative >= first].all()):
        return Finding(LastQueriesMissing(first, *how))
    if w.tile_at(last + 1) and bool(rows[informative][informative <= last].all()):
        return Finding(FirstQueriesMissing(last, *how))
    return None


def _only_last_keys(w: Weights, missing: Tensor, telling: Tensor) -> bool:
    """True if in every row only a tail of the visible keys is missing."""
    for row in range(len(missing)):
        keys = telling[row].nonzero().flatten()
        gone = missing[row][keys]
        if bool(gone.any()) and not bool(gone[int(gone.nonzero()[0]) :].all()):
            return False
    return True
