"""The ladder climbed on the GPU that is here: a rung is timed beside what was kept, and kept where it gains.

    >>> climb = Climb(start)                       # start: the learner's forward pass of lesson 06
    >>> climb.to("two loops")                      # times every rung up to this one that is not timed yet

$ python -m flashlearn.lessons.lesson_12_tuning.climbing ladder_h200.json        # the whole record; on a GPU
"""

from __future__ import annotations

import datetime
import functools
import importlib
import itertools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton
from torch import Tensor
from triton.runtime.errors import OutOfResources

from flashlearn.kernels.tuned_forward import tuned_forward
from flashlearn.lessons import find
from flashlearn.lessons.lesson_12_tuning import autotuning, record
from flashlearn.lessons.lesson_12_tuning.ladder import BACKWARD, END, RUNGS, START, backward_calls
from flashlearn.lessons.lesson_12_tuning.record import CORNERS, TOKENS, WIDTH, Record
from flashlearn.lessons.lesson_12_tuning.rung_kernel import Launcher, Variant, prepared
from flashlearn.machine import device
from flashlearn.machine.timers import Measurement, time_in_turns

ENDS = {START: "this lesson's copy of it", END: "the package's kernel, or the learner's"}
Times = Callable[[list[Callable[[], object]]], list[Measurement]]


@dataclass(frozen=True)
class Sizes:
    """What is timed: `S`, with B · S tokens and H · D numbers for each of them, on a device in a dtype."""

    S: tuple[int, ...] = (1024, 4096, 16384)
    tokens: int = TOKENS
    width: int = WIDTH
    device: str = "cuda"
    dtype: torch.dtype = torch.bfloat16

    def draw(self, D: int, S: int, count: int) -> list[Tensor]:
        size = (self.tokens // S, self.width // D, S, D)
        return [torch.randn(size, device=self.device, dtype=self.dtype) for _ in range(count)]


def brief(calls: list[Callable[[], object]]) -> list[Measurement]:
    """A tenth of a second for each call, in turns."""
    return time_in_turns(calls, seconds=0.1)


class Climb:
    """The forward ladder, for each D and mask by itself: `kept` is the highest rung that gained there."""

    def __init__(self, start: Launcher, sizes: Sizes | None = None, times: Times = brief):
        self.sizes, self.times = sizes or Sizes(), times
        self.record = _header()
        self.variant = {corner: Variant() for corner in CORNERS}
        self.start = start
        self.on = dict.fromkeys(CORNERS, START)
        self.trying = START

    def to(self, name: str, end: Launcher = tuned_forward) -> Record:
        """The record with every rung up to this one; END is the last, and is `end`."""
        if name == END:  # timed anew: a learner's kernel changes
            self.record["rungs"] = [rung for rung in self.record["rungs"] if rung["name"] != END]
        done = {rung["name"] for rung in self.record["rungs"]}
        for one in (START, *(rung.name for rung in RUNGS), END):
            if one not in done:
                self._try(one, end)
            if one == name:
                return self.record
        raise ValueError(f"there is no rung {name!r}")

    def _try(self, name: str, end: Launcher) -> None:
        change = next((rung for rung in RUNGS if rung.name == name), None)
        what = change.what if change else ENDS[name]
        self.trying, shapes = name, []
        for corner in CORNERS:
            variant = change.on(self.variant[corner]) if change else self.variant[corner]
            trial = end if name == END else variant
            shapes += [self._timed(trial, corner, S) for S in self.sizes.S]
        self.record["rungs"].append({"name": name, "what": what, "shapes": shapes})
        gained = {(g.D, g.causal) for g in record.gains(self.record, name) if g.verdict == "gain"}
        for corner in gained | _first_that_fits(shapes) if change else ():
            self.variant[corner] = change.on(self.variant[corner])
            self.on[corner] = name

    def _timed(self, trial: Launcher | Variant, corner: tuple[int, bool], S: int) -> Record:
        D, causal = corner
        base = self.start if self.on[corner] == START else self.variant[corner]
        given = (*self.sizes.draw(D, S, 3), causal, D**-0.5)
        base, new = (
            prepared(one, *given) if isinstance(one, Variant) else functools.partial(one, *given)
            for one in (base, trial)
        )
        shape = {"D": D, "S": S, "causal": causal, "direction": "forward", "on": self.on[corner]}
        below, above = self._both(base, new)
        measured = {"ms": above and above.median, "spread": above and above.spread}
        return shape | measured | {"base_ms": below and below.median, "base_spread": below and below.spread}

    def _both(self, *calls: Callable[[], object]) -> list[Measurement | None]:
        """The two side by side; None for what does not fit on this GPU."""
        try:
            return self.times([*calls])
        except OutOfResources:
            return [self._alone(call) for call in calls]

    def _alone(self, call: Callable[[], object]) -> Measurement | None:
        try:
            return self.times([call])[0]
        except OutOfResources:
            return None


def _first_that_fits(shapes: list[Record]) -> set[tuple[int, bool]]:
    """The D and masks for which the base does not fit on this GPU, and the rung does."""
    fits = {(s["D"], s["causal"]) for s in shapes if s["ms"] and not s["base_ms"]}
    return fits - {(s["D"], s["causal"]) for s in shapes if not s["ms"]}


def backward_rungs(sizes: Sizes | None = None, times: Times = brief) -> list[Record]:
    """The backward passes, each beside the one before it; all three take turns."""
    sizes = sizes or Sizes()
    rungs: list[Record] = [{"name": name, "what": what, "shapes": []} for name, what in BACKWARD]
    for (D, causal), S in itertools.product(CORNERS, sizes.S):
        try:
            taken = times([*backward_calls(*sizes.draw(D, S, 4), causal).values()])
        except OutOfResources:  # one of the three does not fit on this GPU
            continue
        for rung, one, below in zip(rungs, taken, [None, *taken[:-1]], strict=True):
            shape = {"D": D, "S": S, "causal": causal, "direction": "backward"}
            shape |= {"ms": one.median, "spread": one.spread}
            rung["shapes"].append(
                shape | {"base_ms": below and below.median, "base_spread": below and below.spread}
            )
    return rungs


def autotuned(D: int = 128, S: int = 4096, causal: bool = False) -> Record:
    """What the autotuner finds and takes here."""
    return autotuning.search(autotuning.autotuned_kernel, *Sizes().draw(D, S, 3), causal)


def _header() -> Record:
    here = torch.cuda.get_device_name() if device.has_gpu() else "this machine's CPU"
    return {
        "device": here,
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "rungs": [],
    }


def lesson_06() -> Launcher:
    """The course's own kernel of lesson 06, with the arguments of this lesson's."""
    module, _, name = find("flash_forward_either").solution.partition(":")
    either = getattr(importlib.import_module(module), name)
    return lambda q, k, v, causal, alpha: either(q, k, v, alpha, causal)


def measure(start: Launcher, say: Callable[[str], Any] = print) -> Record:
    """The whole record of this GPU: both ladders and the autotuner. Raises RuntimeError without a GPU."""
    if not device.has_gpu():
        raise RuntimeError("the ladder is timed on a GPU, and here is none: shipped_ladder() has a record")
    climb, began = Climb(start), time.perf_counter()
    for name in (START, *(rung.name for rung in RUNGS), END):
        climb.to(name)
        say(f"{time.perf_counter() - began:4.0f} s  {name}")
    climb.record["rungs"] += backward_rungs()
    say(f"{time.perf_counter() - began:4.0f} s  backward")
    climb.record["autotuner"] = autotuned()
    say(f"{time.perf_counter() - began:4.0f} s  autotuner")
    return climb.record


if __name__ == "__main__":
    measured = measure(lesson_06(), functools.partial(print, file=sys.stderr))
    Path(sys.argv[1]).write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
