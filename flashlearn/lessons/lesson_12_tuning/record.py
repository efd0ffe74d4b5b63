"""What was measured of the ladder on a GPU, and what profilers said: shipped as data, or measured here.

    >>> ladder = shipped_ladder()       # None until a record is shipped
    >>> factors(ladder, "forward", causal=False)      # [("plain", 1.0), ("narrow offsets", 1.08), …]

A record is {"device", "versions", "date", "rungs": [{"name", "what", "predicted", "shapes": [{"D", "S",
"causal", "direction", "ms", "spread"}]}]}; a profile {"device", "rungs": [{"name", "counters": {name: value}}]}.
"""

from __future__ import annotations

import datetime
import json
import math
import statistics
from pathlib import Path
from typing import Any

import torch
import triton

from flashlearn.lessons.lesson_12_tuning.ladder import RUNGS, forward
from flashlearn.machine import device
from flashlearn.machine.stopwatch import contest

HERE = Path(__file__).parent
TOKENS = 16384
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


def measure(shapes: tuple[tuple[int, int, bool], ...] = SHAPES, seconds: float = 0.1) -> Record:
    """A record of the ladder's rungs on this GPU: bf16, 2¹⁴ tokens, 2048 numbers in each; rungs take turns.

    Raises RuntimeError without a GPU.
    """
    if not device.has_gpu():
        raise RuntimeError("the ladder is timed on a GPU, and here is none: shipped_ladder() has a record")
    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    rungs: list[Record] = [
        {"name": rung.name, "what": rung.what, "predicted": rung.predicted, "shapes": []} for rung in RUNGS
    ]
    for D, S, causal in shapes:
        B, H = TOKENS // S, 2048 // D
        q, k, v = (torch.randn(B, H, S, D, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        calls = [_call(forward(rung), q, k, v, causal, D**-0.5) for rung in RUNGS]
        for rung, figures in zip(rungs, contest(calls, seconds=seconds), strict=True):
            rung["shapes"].append(
                {"D": D, "S": S, "causal": causal, "direction": "forward"}
                | {"ms": figures.median, "spread": figures.spread}
            )
    versions = {"torch": torch.__version__, "triton": triton.__version__}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {
        "device": torch.cuda.get_device_name(),
        "versions": versions,
        "date": today,
        "rungs": rungs,
    }


def _call(launcher: Any, *arguments: Any) -> Any:
    return lambda: launcher(*arguments)


def ladder() -> Record | None:
    """The learner's own GPU's ladder where there is one, else the shipped record."""
    return measure() if device.has_gpu() else shipped_ladder()


def speeds(record: Record, direction: str, causal: bool) -> list[tuple[str, float]]:
    """For each rung the geometric mean over its shapes of the TFLOP/s, half of them credited if causal."""
    return [
        (rung["name"], _mean([_tflops(shape) for shape in found]))
        for rung in record["rungs"]
        if (found := _shapes(rung, direction, causal))
    ]


def factors(record: Record, direction: str, causal: bool) -> list[tuple[str, float]]:
    """How many times as fast each rung is as the one below it, as a geometric mean over the shapes."""
    fast = speeds(record, direction, causal)
    return [
        (name, speed / before) for (_, before), (name, speed) in zip([fast[0], *fast], fast, strict=False)
    ]


def unsteady(record: Record, limit: float = 0.05) -> list[str]:
    """The timings whose spread is above the limit, as rung and shape."""
    return [
        f"{rung['name']}, D {s['D']}, S {s['S']}{', causal' if s['causal'] else ''}"
        for rung in record["rungs"]
        for s in rung["shapes"]
        if s["spread"] is not None and s["spread"] > limit
    ]


def _shapes(rung: Record, direction: str, causal: bool) -> list[Record]:
    return [s for s in rung["shapes"] if s["direction"] == direction and s["causal"] == causal]


def _tflops(shape: Record) -> float:
    products = 4 if shape["direction"] == "forward" else 10
    heads = 2048 // shape["D"]
    operations = products * TOKENS * heads * shape["S"] * shape["D"] / (2 if shape["causal"] else 1)
    return operations / (shape["ms"] * 1e-3) / 1e12


def _mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))
