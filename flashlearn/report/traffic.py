"""What was counted, as tables of words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from flashlearn.outcome import Outcome, Status
from flashlearn.report.units import amount, byte_size, number
from flashlearn.report.verdict_sentences import principal

if TYPE_CHECKING:
    from flashlearn.interpreter.observation import Traffic
    from flashlearn.report import Report

KINDS = {
    "dot": "in tl.dot",
    "elementwise": "element by element",
    "reduce": "in reductions",
    "special": "special (exp, log, …)",
}
_LOADED, _UNIQUE_LOADED = attrgetter("loaded"), attrgetter("unique_loaded")
_STORED, _UNIQUE_STORED = attrgetter("stored"), attrgetter("unique_stored")
COMPLETE = (Status.PASS, Status.WRONG, Status.RACE, Status.NOT_YOURS)  # the kernel ran to its end


@dataclass(frozen=True)
class Table:
    """A small table; `numeric` columns are set to the right. `notes` are sentences below it."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def traffic(report: Report) -> tuple[Table, str] | None:
    """Bytes by tensor, and of which case: the one the report speaks about, or the largest passing one."""
    outcome = _observed(report)
    if outcome is None or outcome.observation is None or report.status not in COMPLETE:
        return None
    seen = outcome.observation
    if not seen.bytes_requested:
        return None
    columns = _traffic_columns(list(seen.traffic.values()))
    rows = tuple(
        (name, *(_bytes(count(t)) for count in columns.values())) for name, t in seen.traffic.items()
    )
    notes = (_operations(seen.operations), _intensity(seen))
    return Table(("tensor", *columns), rows, tuple(note for note in notes if note)), outcome.case.name


def _traffic_columns(moved: list[Traffic]) -> dict[str, Callable[[Traffic], int]]:
    """The columns that say something: unique bytes only where some move twice, atomics only if any."""
    columns: dict[str, Callable[[Traffic], int]] = {}
    for verb, all_, once in (("loaded", _LOADED, _UNIQUE_LOADED), ("stored", _STORED, _UNIQUE_STORED)):
        if all(all_(t) == once(t) for t in moved):
            columns[verb] = all_
        else:
            columns |= {f"{verb} (requested)": all_, f"{verb} (unique)": once}
    if any(t.atomic for t in moved):
        columns["added atomically"] = attrgetter("atomic")
    return columns


def _observed(report: Report) -> Outcome | None:
    ran = [o for o in report.outcomes if o.observation is not None]
    if report.status is not Status.PASS:
        outcome = principal(report)
        return outcome if outcome in ran else None
    return max(ran, key=lambda o: o.observation.bytes_requested, default=None)


def _bytes(count: int) -> str:
    return byte_size(count) if count else "–"


def _operations(operations: dict[str, int]) -> str:
    total = sum(operations.values())
    if not total:
        return ""
    kinds = {KINDS.get(kind, kind): n for kind, n in operations.items() if n}
    if len(kinds) == 1:
        return f"{amount(total)} operations, all {', '.join(kinds)}."
    return f"{amount(total)} operations: {', '.join(f'{amount(n)} {kind}' for kind, n in kinds.items())}."


def _intensity(seen: Any) -> str:
    total = seen.total_operations
    if not total or not seen.bytes_unique:
        return ""
    requested, unique = total / seen.bytes_requested, total / seen.bytes_unique
    low = f"{number(requested)} operations per requested byte"
    if abs(unique - requested) < 0.01 * unique:
        return f"Arithmetic intensity: {low}; no byte moves twice."
    return f"Arithmetic intensity: {low}, {number(unique)} per unique byte."
