"""The headline figure of a passing report: its speed, the bytes that it saves, or how close it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flashlearn.report.data import CheckResult
from flashlearn.report.times import SAME_TIME, workload
from flashlearn.report.units import byte_size, case_title, number

if TYPE_CHECKING:
    from flashlearn.judging.speed import Counted, Timing

UNSTEADY = ", but single runs vary by more than 5 %"


def highlight_of(result: CheckResult) -> str:
    """A short sentence with one figure; empty where there is none, or no pass."""
    if not result.passed:
        return ""
    timing = result.timing
    if timing is not None and timing.own is not None and timing.ratio:
        return _speed(result, timing, timing.ratio)
    if timing is not None and timing.counted is not None and timing.counted.bytes:
        return _traffic(result, timing.counted)
    return _accuracy(result)


def _speed(result: CheckResult, timing: Timing, ratio: float) -> str:
    """The speed beside the baseline's, after the best grade that it reaches."""
    baseline = timing.peer
    if abs(1 / ratio - 1) < SAME_TIME:
        speed = f"As fast as {baseline}"
    elif ratio > 1:
        speed = f"{number(ratio)} times as fast as {baseline}"
    else:
        speed = f"{number(100 * ratio)} % of the speed of {baseline}"
    grade = next((mark.grade.name for mark in reversed(timing.marks) if mark.reached), "")
    speed = f"{grade.capitalize()}: {speed[0].lower()}{speed[1:]}" if grade else speed
    unsteady = any(one is not None and one.unsteady for one in (timing.own, timing.peers.get(baseline)))
    return f"{speed}, {workload(result)}{UNSTEADY if unsteady else ''}."


def _traffic(result: CheckResult, counted: Counted) -> str:
    if counted.bytes <= (counted.least_bytes or 0.0) and not _reads_again(result):
        moved = f"It moves {byte_size(counted.bytes)} in case “{case_title(counted.case)}”"
        return f"{moved}, each byte once."
    return _accuracy(result)  # a prediction is of the GPU, and no result of this kernel


def _reads_again(result: CheckResult) -> bool:
    """True if a byte was requested twice: how often that reaches the memory depends on the caches."""
    observed = [outcome.observation for outcome in result.outcomes if outcome.observation is not None]
    return any(one.bytes_requested > one.bytes_unique for one in observed)


def _accuracy(result: CheckResult) -> str:
    """How much of what is allowed the largest error takes."""
    checks = [check for outcome in result.outcomes for check in outcome.outputs]
    ratios = [check.error / check.allowed for check in checks if check.allowed > 0]
    ratios = [ratio for ratio in ratios if ratio == ratio]
    return f"The largest error is {number(100 * max(ratios))} % of what is allowed." if ratios else ""
