"""Times, measured or predicted, and what they are of: never one without the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashlearn.report.data import CheckResult
from flashlearn.report.units import amount, byte_size, case_title, duration, number

if TYPE_CHECKING:
    from flashlearn.judging.speed import Mark, Timing
    from flashlearn.machine.timers import Measurement

SAME_TIME = 0.03  # relative difference below which two measured times count as equal
BOUND = (
    "This is the time to move the minimum number of bytes, or do the minimum number of operations: "
    "no kernel can be faster."
)
NEARLY_LEAST = 1.02
SPREAD = "± is the spread of single runs around the median. Check again when the GPU is idle."


@dataclass(frozen=True)
class Bar:
    """A measured time; `fraction` is the bar's length, 1 for the longest; `own` if it is the learner's."""

    label: str
    time: str
    fraction: float
    own: bool


@dataclass(frozen=True)
class Times:
    """Measured times as bars, or predictions as sentences: never both without saying which."""

    title: str
    bars: tuple[Bar, ...]
    sentences: tuple[str, ...]


def times_of(result: CheckResult) -> Times | None:
    """A measured comparison with the baseline, or the roofline's prediction, and which of them it is."""
    timing = result.timing
    if timing is None:
        return None
    if timing.own is not None:
        return _measured(timing, timing.own, workload(result))
    if timing.predictions:
        sentences = tuple(_predicted(gpu, seconds, timing) for gpu, seconds in timing.predictions.items())
        title = f"predicted, not measured, for {workload(result)}"
        return Times(title, (), (*sentences, BOUND, *filter(None, [counted(timing)])))
    return None


def workload(result: CheckResult) -> str:
    """What a time is of: shape, dtype, and the GPU that took it."""
    timing = result.timing
    if timing is None:
        return ""
    case = timing.case or result.exercise.timed.case
    if case is None or not (timing.measured or timing.where == case.name):
        return f"on {timing.where}" if timing.measured else timing.where  # shapes and dtypes of a case here
    return f"on {timing.where}, {case_title(case)}" if timing.measured else case_title(case)


def _spread(one: Measurement) -> str:
    """« ± 7 %» after a time whose calls differ a lot: half of their spread; nothing after a steady one."""
    return f" ± {number(50 * one.spread)} %" if one.unsteady else ""


def _measured(timing: Timing, own: Measurement, title: str) -> Times:
    longest = max(one.median for one in (own, *timing.peers.values()))
    bars = tuple(
        Bar(name, duration(one.median / 1e3) + _spread(one), one.median / longest, one is own)
        for name, one in (("yours", own), *timing.peers.items())
    )
    seconds = own.median / 1e3
    sentences = [timing.smaller] if timing.smaller else []
    sentences += [_compared(seconds, one.median / 1e3, name) for name, one in timing.peers.items()]
    sentences += [_grade(mark) for mark in timing.marks]
    if timing.bytes:
        moved = f"Yours moves at least {byte_size(timing.bytes)}: {amount(timing.bytes / seconds)}B/s"
        sentences.append(f"{moved}{_share(timing, timing.bytes / seconds, 'copy')}.")
    if timing.operations:
        rate = timing.operations / seconds
        computed = f"It computes {amount(timing.operations)} operations: {amount(rate)}FLOP/s"
        sentences.append(f"{computed}{_share(timing, rate, 'product')}.")
    if own.peak is not None:
        sentences.append(_peak_memory(timing, own.peak))
    if any(one.unsteady for one in (own, *timing.peers.values())):
        sentences.append(SPREAD)
    return Times(f"measured {title}", bars, tuple(sentences))


def _share(timing: Timing, rate: float, what: str) -> str:
    """The share of what the same GPU reaches with a large copy, or a large product in bf16."""
    if timing.reached is None or (what == "product" and not timing.half):
        return ""
    share = 100 * rate / getattr(timing.reached, what)
    long = {"copy": "copy", "product": "matrix product"}[what]
    return f", {number(share)} % of what a large {long} reaches on this GPU"


def _grade(mark: Mark) -> str:
    grade = mark.grade
    needed, own = (f"{ratio:.{_digits(mark)}f}" for ratio in (grade.ratio, mark.ratio))
    name, needed = grade.name.capitalize(), f"{needed} × the speed of {grade.peer}"
    if mark.reached:
        return f"{name} reached: it needs {needed}, and yours has {own} ×."
    return f"{name} needs {needed}; yours reaches {own} ×."


def _digits(mark: Mark) -> int:
    """Two digits after the point, or as many as show that a grade was just missed."""
    missed = (n for n in range(2, 6) if mark.reached or f"{mark.ratio:.{n}f}" != f"{mark.grade.ratio:.{n}f}")
    return next(missed, 6)


def _peak_memory(timing: Timing, own: int) -> str:
    peaks = f"Peak memory beyond the inputs: yours {byte_size(own)}"
    others = (f"{name} {byte_size(one.peak)}" for name, one in timing.peers.items() if one.peak is not None)
    return f"{', '.join((peaks, *others))}."


def counted(timing: Timing) -> str:
    """What the kernel moved in an observed case, beside the least that any kernel moves there."""
    seen = timing.counted
    if seen is None or not seen.bytes or not seen.least_bytes:
        return ""
    moved = f"Yours moves {byte_size(seen.bytes)} in case “{case_title(seen.case)}”, each byte counted once"
    if (
        seen.bytes <= NEARLY_LEAST * seen.least_bytes
    ):  # some minima leave out small tensors, some have too many
        return f"{moved}."
    return f"{moved}; the minimum is {byte_size(seen.least_bytes)}."


def _compared(own: float, other: float, name: str) -> str:
    if abs(own / other - 1) < SAME_TIME:
        return f"As fast as {name}."
    if own < other:
        return f"{number(other / own)} times as fast as {name}."
    return f"{number(own / other)} times as long as {name}."


def _predicted(name: str, seconds: float, timing: Timing) -> str:
    sentence = f"At least {duration(seconds, 2)} on {_article(name)} {name}"
    limit = _limit(name, seconds, timing)
    return f"{sentence}, limited by {limit}." if limit else f"{sentence}."


def _limit(name: str, seconds: float, timing: Timing) -> str:
    """Which of the roofline's two lines gave the prediction."""
    from flashlearn.machine.device import GPUS

    gpu = GPUS.get(name)
    if gpu is None or not timing.least_bytes:
        return ""
    return "memory" if timing.least_bytes / gpu.bandwidth >= 0.99 * seconds else "arithmetic"


def _article(name: str) -> str:
    return "an" if name.startswith(("A", "H", "L", "RTX")) else "a"
