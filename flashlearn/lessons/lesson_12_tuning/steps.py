"""The ladder in the lesson: predictions, and beside them what this GPU measured, or what a record holds.

>>> steps = Steps(start)                                  # start: the forward pass of lesson 06
>>> steps.predict("two loops", full=1.0, causal=1.1)
>>> steps.show("two loops")                               # on a GPU it is timed now
"""

from __future__ import annotations

from collections.abc import Iterator

from flashlearn.kernels.tuned_forward import tuned_forward
from flashlearn.lessons.lesson_12_tuning import record
from flashlearn.lessons.lesson_12_tuning.climbing import Climb, backward_rungs
from flashlearn.lessons.lesson_12_tuning.ladder import RUNGS
from flashlearn.lessons.lesson_12_tuning.predictions import Predictions
from flashlearn.lessons.lesson_12_tuning.record import Gain, Record
from flashlearn.lessons.lesson_12_tuning.rung_kernel import Launcher
from flashlearn.machine import device

NOTHING = "There is no GPU here, and no record of another one came with the lesson: there is nothing to show."


class Steps:
    """One climb of a session: on a GPU rungs are timed when they are shown; elsewhere a record is read."""

    def __init__(self, start: Launcher):
        self.predict = Predictions(rung.name for rung in RUNGS)
        self.climb = Climb(start) if device.has_gpu() else None

    def measured(self, name: str = RUNGS[-1].name, end: Launcher = tuned_forward) -> Record | None:
        """The record with the rungs up to this one, or the one that came with the lesson."""
        return self.climb.to(name, end) if self.climb else record.shipped_ladder()

    def show(self, name: str, end: Launcher = tuned_forward) -> None:
        """Print the rung's prediction and what was measured, by D, mask and S."""
        print("\n".join(shown(self.measured(name, end), name, self.predict)))

    def table(self) -> None:
        """Print all rungs, each with what was predicted and measured."""
        print("\n".join(table(self.measured(), self.predict)))

    def backward(self) -> Record | None:
        """The record with the backward passes in it."""
        found = self.measured()
        if self.climb and found and not record.names(found, "backward"):
            found["rungs"] += backward_rungs()
        return found


def source(found: Record) -> str:
    """Where and when the record was measured, and with what."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return f"{found['device']}, {found['date']}, {versions}"


def shown(
    found: Record | None, name: str, predicted: Predictions, direction: str = "forward"
) -> Iterator[str]:
    """The lines of one rung."""
    if found is None:
        yield NOTHING
        return
    yield f"{name}: {source(found)}"
    rows = record.gains(found, name, direction)
    if not rows and not record.cumulative(found) and name in record.names(found, direction):
        yield "  What it would be timed beside does not fit on this GPU."
        return
    if not rows:
        known = ", ".join(record.names(found, direction)[1:])
        yield f"  This record is of another ladder and does not have this rung; it has {known}."
        yield "  On a machine with a GPU this cell measures it."
        return
    if record.cumulative(found):
        yield f"  {_older(found, direction)}"
    removes = name in predicted.rungs and not record.cumulative(found)
    lengths = list(rows[0].factors)
    yield f"  {'':13}{'predicted':>11}" + "".join(f"{f'S {S}':>10}" for S in lengths) + f"{'mean':>10}"
    for row in rows:
        guess = predicted.of(name, row.causal)
        cells = "".join(f"{_factor(row, S):>10}" for S in lengths)
        yield f"  {_corner(row):13}{_number(guess):>11}{cells}{row.factor:>10.2f}   {judged(row, removes)}"
    if any(_within(row, S) for row in rows for S in lengths):
        yield "  ~ no gain and no loss: the factor is within the spread of its single calls"


def judged(row: Gain, removes: bool) -> str:
    """The verdict in words; and what became of the rung, where the ladder removes what does not gain."""
    kept = "" if not removes else ": kept" if row.verdict == "gain" else ": removed"
    words = {
        "gain": "a gain",
        "loss": "a loss",
        "no gain": f"no gain, within {row.noise:.0%}",
    }
    return words[row.verdict] + kept


def table(found: Record | None, predicted: Predictions, direction: str = "forward") -> Iterator[str]:
    """All rungs of the record: a line each, with the factor for each D and mask and its sign."""
    if found is None:
        yield NOTHING
        return
    yield source(found)
    if record.cumulative(found):
        yield _older(found, direction)
    heads = [f"D {D}{' causal' if causal else ' full'}" for D, causal in record.CORNERS]
    yield f"{'':20}{'predicted':>14}" + "".join(f"{head:>14}" for head in heads)
    for name in record.names(found, direction):
        rows = {(row.D, row.causal): row for row in record.gains(found, name, direction)}
        if rows:
            guess = "/".join(_number(predicted.of(name, causal)) for causal in (False, True))
            cells = (_signed(rows.get(corner)) for corner in record.CORNERS)
            yield f"{name:20}{guess:>14}" + "".join(f"{cell:>14}" for cell in cells)
    yield "+ a gain   − a loss   = no gain: within the spread of the timings, or within 1 %"
    shaky = record.unsteady(found)
    yield f"{len(shaky)} timings have a spread above 5 %" + (": " + "; ".join(shaky[:3]) if shaky else "")


def surprises(found: Record | None, predicted: Predictions) -> Iterator[str]:
    """The predictions that were furthest off, the worst first."""
    off = []
    for name in predicted.rungs if found else ():
        for row in record.gains(found, name):
            guess = predicted.of(name, row.causal)
            if guess and row.factor:
                ratio = max(guess / row.factor, row.factor / guess)
                off.append(
                    (ratio, f"{name}, {_corner(row)}: predicted × {guess:.2f}, measured × {row.factor:.2f}")
                )
    if not off:
        yield "No prediction can be compared: type some above, and run their cells."
    for _, line in sorted(off, reverse=True)[:4]:
        yield line


def _older(found: Record, direction: str) -> str:
    lowest = record.names(found, direction)[0]
    return f"An older record: it begins at {lowest!r}, and a rung lies on all before it, also on what lost."


def _corner(row: Gain) -> str:
    return f"D {row.D}, {'causal' if row.causal else 'full'}"


def _number(factor: float | None) -> str:
    return "–" if factor is None else f"{factor:.2f}"


def _within(row: Gain, S: int) -> bool:
    return bool(row.factors[S]) and abs(row.factors[S] - 1) <= max(record.LEAST_NOISE, row.spreads[S])


def _factor(row: Gain, S: int) -> str:
    if not row.factors[S]:
        return "no room"
    return f"{row.factors[S]:.2f}{'~' if _within(row, S) else ''}"


def _signed(row: Gain | None) -> str:
    signs = {"gain": "+", "loss": "−", "no gain": "="}
    return f"{row.factor:.2f} {signs[row.verdict]}" if row else "–"
