"""What was counted, measured and predicted, as tables of words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from flashlearn.outcome import Outcome, Status
from flashlearn.report.units import amount, byte_size, duration, number
from flashlearn.report.view import principal

if TYPE_CHECKING:
    from flashlearn.interpreter.observation import Traffic
    from flashlearn.judging.speed import Timing
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
SAME_TIME = 0.03  # closer than this, two measured times are called equal


@dataclass(frozen=True)
class Table:
    """A small table; `numeric` columns are set to the right. `notes` are sentences below it."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bar:
    label: str
    words: str
    fraction: float
    own: bool


@dataclass(frozen=True)
class Times:
    """Measured times as bars, or predictions as sentences: never both without saying which."""

    title: str
    bars: tuple[Bar, ...]
    sentences: tuple[str, ...]


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


def times(timing: Timing | None) -> Times | None:
    """A measured comparison with the peer, or the roofline's prediction, clearly told apart."""
    if timing is None:
        return None
    if timing.measured and timing.milliseconds:
        return _measured(timing)
    if timing.predictions:
        sentences = tuple(_predicted(gpu, seconds, timing) for gpu, seconds in timing.predictions.items())
        return Times(f"predicted, not measured, for {timing.where}", (), (*sentences, *_counted(timing)))
    return None


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


def _measured(timing: Timing) -> Times:
    own = timing.milliseconds / 1e3
    bars = [Bar("yours", duration(own), 1.0, True)]
    sentences = []
    if timing.peer_milliseconds:
        peer = timing.peer_milliseconds / 1e3
        longest = max(own, peer)
        bars = [
            Bar("yours", duration(own), own / longest, True),
            Bar(timing.peer or "torch", duration(peer), peer / longest, False),
        ]
        sentences.append(_compared(own, peer, timing.peer or "torch"))
    if timing.bytes:
        sentences.append(f"Yours moves at least {byte_size(timing.bytes)}: {amount(timing.bytes / own)}B/s.")
    if timing.operations:
        sentences.append(
            f"It computes {amount(timing.operations)} operations: {amount(timing.operations / own)}FLOP/s."
        )
    if timing.peak_bytes is not None:
        sentences.append(_peak(timing))
    return Times(f"measured on {timing.where}", tuple(bars), tuple(sentences))


def _peak(timing: Timing) -> str:
    held = f"It holds {byte_size(timing.peak_bytes or 0)} beyond its inputs at its peak"
    if timing.peer_peak_bytes is None:
        return f"{held}."
    return f"{held}, {timing.peer or 'torch'} {byte_size(timing.peer_peak_bytes)}."


def _counted(timing: Timing) -> list[str]:
    """What the prediction was made from."""
    if not timing.bytes:
        return []
    least = ""
    if timing.least_bytes:
        near = timing.bytes <= 1.02 * timing.least_bytes
        least = ": no kernel can do with less" if near else f"; {byte_size(timing.least_bytes)} would do"
    operations = f" It computes {amount(timing.operations)} operations." if timing.operations else ""
    return [f"Your kernel moves {byte_size(timing.bytes)} there, each byte counted once{least}.{operations}"]


def _compared(own: float, peer: float, name: str) -> str:
    if abs(own / peer - 1) < SAME_TIME:
        return f"As fast as {name}."
    if own < peer:
        return f"{number(peer / own)} times as fast as {name}."
    return f"{number(own / peer)} times the time of {name}."


def _predicted(name: str, seconds: float, timing: Timing) -> str:
    sentence = f"At least {duration(seconds, 2)} on {_article(name)} {name}"
    limit = _limit(name, seconds, timing)
    return f"{sentence}, limited by {limit}." if limit else f"{sentence}."


def _limit(name: str, seconds: float, timing: Timing) -> str:
    """Which of the roofline's two lines gave the prediction."""
    from flashlearn.machine.device import GPUS

    gpu = GPUS.get(name)
    if gpu is None or not timing.bytes:
        return ""
    return "memory" if timing.bytes / gpu.bandwidth >= 0.99 * seconds else "arithmetic"


def _article(name: str) -> str:
    return "an" if name.startswith(("A", "H", "L", "RTX")) else "a"
