"""Times, measured or predicted, and what they are of: never one without the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashlearn.report.units import amount, byte_size, dtype_name, duration, number

if TYPE_CHECKING:
    from flashlearn.judging.speed import Timing
    from flashlearn.report import Report

SAME_TIME = 0.03  # closer than this, two measured times are called equal


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


def times(report: Report) -> Times | None:
    """A measured comparison with the peer, or the roofline's prediction, clearly told apart."""
    timing = report.timing
    if timing is None:
        return None
    if timing.measured and timing.milliseconds:
        return _measured(timing, timed(report))
    if timing.predictions:
        sentences = tuple(_predicted(gpu, seconds, timing) for gpu, seconds in timing.predictions.items())
        title = f"predicted, not measured, for {timed(report)}"
        return Times(title, (), (*sentences, *_counted(timing)))
    return None


def timed(report: Report) -> str:
    """What a time is of: shape, dtype, and the GPU that took it."""
    timing, case = report.timing, report.exercise.timed.case
    if timing is None:
        return ""
    if case is None or not (timing.measured or timing.where == case.name):
        return f"on {timing.where}" if timing.measured else timing.where  # shapes and dtypes of a case here
    dtype = dtype_name(case.dtype)
    shape = case.name if dtype in case.name.replace(",", " ").split() else f"{case.name}, {dtype}"
    return f"on {timing.where}, {shape}" if timing.measured else shape


def at_best(timing: Timing) -> str:
    """The first prediction: «At best 40 µs on an H100»; empty if there is none."""
    gpu, seconds = next(iter(timing.predictions.items()), ("", 0.0))
    return f"At best {duration(seconds, 2)} on {_article(gpu)} {gpu}" if gpu else ""


def _measured(timing: Timing, what: str) -> Times:
    own = (timing.milliseconds or 0.0) / 1e3
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
    return Times(f"measured {what}", tuple(bars), tuple(sentences))


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
