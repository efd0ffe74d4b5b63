"""The one figure that a pass may be proud of: its speed, the bytes that it saves, or how close it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashlearn.outcome import Status
from flashlearn.report.times import SAME_TIME, at_best, timed
from flashlearn.report.units import byte_size, number

if TYPE_CHECKING:
    from flashlearn.judging.speed import Timing
    from flashlearn.report import Report

SPARING = 1.02  # times the least bytes: as good as the least
UNSTEADY = "; but single calls stray by more than 5 %"


def pride(report: Report) -> str:
    """A short sentence with one figure; empty where there is none, or no pass."""
    if report.status is not Status.PASS:
        return ""
    timing = report.timing
    if timing is not None and timing.own is not None and timing.ratio:
        return _against_peer(report, timing, timing.ratio)
    if timing is not None and not timing.measured and timing.bytes:
        return _frugal(report, timing)
    return _closeness(report)


def _against_peer(report: Report, timing: Timing, speed: float) -> str:
    peer = timing.peer
    if abs(1 / speed - 1) < SAME_TIME:
        said = f"As fast as {peer}"
    elif speed > 1:
        said = f"{number(speed)} times as fast as {peer}"
    else:
        said = f"{number(100 * speed)} % of the speed of {peer}"
    grade = next((mark.grade.name for mark in reversed(timing.marks) if mark.reached), "")
    said = f"{grade.capitalize()}: {said[0].lower()}{said[1:]}" if grade else said
    strays = any(one is not None and one.unsteady for one in (timing.own, timing.peers.get(peer)))
    return f"{said}, {timed(report)}{UNSTEADY if strays else ''}."


def _frugal(report: Report, timing: Timing) -> str:
    least = timing.bytes and timing.least_bytes and timing.bytes <= SPARING * timing.least_bytes
    if timing.bytes and least and not _reads_again(report):
        return f"It moves {byte_size(timing.bytes)} for {timed(report)}: no kernel can do with less."
    best = at_best(timing)
    return f"{best} for {timed(report)}." if best else _closeness(report)


def _reads_again(report: Report) -> bool:
    """True if some byte was asked for twice: how often that reaches the memory, caches decide."""
    seen = [outcome.observation for outcome in report.outcomes if outcome.observation is not None]
    return any(one.bytes_requested > SPARING * one.bytes_unique for one in seen)


def _closeness(report: Report) -> str:
    """How much of what is allowed the largest error takes."""
    checks = [check for outcome in report.outcomes for check in outcome.outputs]
    ratios = [check.error / check.allowed for check in checks if check.allowed > 0]
    ratios = [ratio for ratio in ratios if ratio == ratio]
    return f"The largest error is {number(100 * max(ratios))} % of what is allowed." if ratios else ""
