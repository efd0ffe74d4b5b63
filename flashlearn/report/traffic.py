"""Memory traffic and operations, as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from flashlearn.outcome import Outcome, Status
from flashlearn.report.data import CheckResult
from flashlearn.report.units import amount, byte_size, number

if TYPE_CHECKING:
    from flashlearn.observation import Observation, Traffic

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


@dataclass(frozen=True)
class TrafficTable:
    """Bytes by tensor, and the case that they are of."""

    table: Table
    case: str


def traffic_of(result: CheckResult) -> TrafficTable | None:
    """Bytes by tensor, of the case that the verdict is about, or of the largest passing one."""
    outcome = _observed(result)
    if outcome is None or outcome.observation is None or result.status not in COMPLETE:
        return None
    seen = outcome.observation
    if not seen.bytes_requested:
        return None
    columns = _traffic_columns(list(seen.tensors.values()))
    rows = tuple(
        (name, *(_bytes(count(t)) for count in columns.values())) for name, t in seen.tensors.items()
    )
    notes = (_operations(seen.operations), _intensity(seen))
    table = Table(("tensor", *columns), rows, tuple(note for note in notes if note))
    return TrafficTable(table, outcome.case.name)


def _traffic_columns(moved: list[Traffic]) -> dict[str, Callable[[Traffic], int]]:
    """The columns with content: unique bytes only where some move twice, atomics only if there are any."""
    columns: dict[str, Callable[[Traffic], int]] = {}
    for verb, requested, unique in (("loaded", _LOADED, _UNIQUE_LOADED), ("stored", _STORED, _UNIQUE_STORED)):
        if not any(map(requested, moved)) and any(t.atomic for t in moved):
            continue  # what is added atomically has a column of its own
        if all(requested(t) == unique(t) for t in moved):
            columns[verb] = requested
        else:
            columns |= {f"{verb} (requested)": requested, f"{verb} (unique)": unique}
    if any(t.atomic for t in moved):
        columns["added atomically"] = attrgetter("atomic")
    return columns


def _observed(result: CheckResult) -> Outcome | None:
    if not result.passed:
        outcome = result.principal
        return outcome if outcome is not None and outcome.observation is not None else None
    ran = [outcome for outcome in result.outcomes if outcome.observation is not None]
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


def _intensity(seen: Observation) -> str:
    total = seen.total_operations
    if not total or not seen.bytes_unique:
        return ""
    requested, unique = total / seen.bytes_requested, total / seen.bytes_unique
    low = f"{number(requested)} operation{'s' * (number(requested) != '1')} per requested byte"
    if seen.bytes_requested == seen.bytes_unique:
        again = len(seen.launches) > 1 or any(t.loaded and t.stored for t in seen.tensors.values())
        moves = "no byte is loaded or stored twice" if again else "no byte moves twice"
        return f"Arithmetic intensity: {low}; {moves}."
    return f"Arithmetic intensity: {low}, {number(unique)} per unique byte."
