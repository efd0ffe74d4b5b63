"""What was measured of the ladder on a GPU, and what a profiler said: shipped as data, or measured here.

    >>> record = shipped_ladder()                      # None while no record is shipped
    >>> factors(record, "forward", causal=False)       # {"narrow offsets": 1.08, …}

A record is {"device", "versions", "date", "rungs": [{"name", "what", "predicted", "shapes": [{"D", "S",
"causal", "direction", "ms", "spread"}]}]}; profiles are {"device", "rungs": [{"name", "what", "counters":
{counter: value}}]}. A rung of a record that the lesson does not know is still shown.
"""

from __future__ import annotations

import datetime
import itertools
import json
import math
import statistics
from pathlib import Path
from typing import Any

import torch
import triton

from flashlearn.lessons.lesson_12_tuning.ladder import BACKWARD, RUNGS, backward_calls, forward_calls
from flashlearn.machine import device
from flashlearn.machine.timers import UNSTEADY_SPREAD, time_in_turns

HERE = Path(__file__).parent
TOKENS, WIDTH = 16384, 2048
"""B · S and H · D of every shape."""
SHAPES = tuple((D, S, causal) for D in (64, 128) for S in (1024, 4096) for causal in (False, True))

Record = dict[str, Any]


def shipped_ladder() -> Record | None:
    """The record of an H200 that comes with the lesson; None if none does."""
    return _read("ladder_h200.json")


def shipped_profiles() -> Record | None:
    """A dozen counters of two rungs, as Nsight Compute read them on an H200; None if none came along."""
    return _read("profiles_h200.json")


def _read(name: str) -> Record | None:
    path = HERE / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def ladder() -> Record | None:
    """The learner's own GPU's ladder where there is one, else the shipped record."""
    return measure() if device.has_gpu() else shipped_ladder()


def measure(shapes: tuple[tuple[int, int, bool], ...] = SHAPES, seconds: float = 0.1) -> Record:
    """The ladder on this GPU, in bf16: all rungs of a shape take turns. Raises RuntimeError without a GPU."""
    if not device.has_gpu():
        raise RuntimeError("the ladder is timed on a GPU, and here is none: shipped_ladder() has a record")
    rungs: dict[str, Record] = {}
    for D, S, causal in shapes:
        size = (TOKENS // S, WIDTH // D, S, D)
        q, k, v, do = (torch.randn(size, device="cuda", dtype=torch.bfloat16) for _ in range(4))
        for direction, calls in (
            ("forward", forward_calls(q, k, v, causal)),
            ("backward", backward_calls(q, k, v, do, causal)),
        ):
            shape = {"D": D, "S": S, "causal": causal, "direction": direction}
            for name, figures in zip(
                calls, time_in_turns(list(calls.values()), seconds=seconds), strict=True
            ):
                kept = rungs.setdefault(name, _described(name))
                kept["shapes"].append(shape | {"ms": figures.median, "spread": figures.spread})
    return {
        "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "rungs": list(rungs.values()),
    }


def _described(name: str) -> Record:
    known = {rung.name: (rung.what, rung.predicted) for rung in RUNGS} | {n: more for n, *more in BACKWARD}
    what, predicted = known[name]
    return {"name": name, "what": what, "predicted": predicted, "shapes": []}


def rates(record: Record, direction: str, causal: bool) -> dict[str, float]:
    """For each rung the geometric mean over its shapes of the TFLOP/s, half of them credited if causal."""
    found = {rung["name"]: _shapes(rung, direction, causal) for rung in record["rungs"]}
    return {name: _mean([_rate(shape) for shape in shapes]) for name, shapes in found.items() if shapes}


def factors(record: Record, direction: str, causal: bool) -> dict[str, float]:
    """How many times as fast each rung is as the one below it: the lowest is left out."""
    fast = list(rates(record, direction, causal).items())
    return {name: rate / below for (_, below), (name, rate) in itertools.pairwise(fast)}


def unsteady(record: Record) -> list[str]:
    """The timings whose spread is so large that they have to be taken with care, as rung and shape."""
    return [
        f"{rung['name']}, D {s['D']}, S {s['S']}, {s['direction']}{', causal' if s['causal'] else ''}"
        for rung in record["rungs"]
        for s in rung["shapes"]
        if s["spread"] is not None and s["spread"] > UNSTEADY_SPREAD
    ]


def _shapes(rung: Record, direction: str, causal: bool) -> list[Record]:
    return [s for s in rung["shapes"] if s["direction"] == direction and s["causal"] == causal]


def _rate(shape: Record) -> float:
    """TFLOP/s from the credited products: two forward, five backward."""
    products = 4 if shape["direction"] == "forward" else 10
    operations = products * TOKENS * shape["S"] * WIDTH / (2 if shape["causal"] else 1)
    return operations / (shape["ms"] * 1e-3) / 1e12


def _mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))
