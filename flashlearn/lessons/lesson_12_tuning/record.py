"""What was measured of the ladder on a GPU, and what a profiler said: files, and what they mean.

    >>> for gain in gains(shipped_ladder(), "two loops"):
    ...     gain.D, gain.causal, gain.factor, gain.verdict

A record is {"device", "versions", "date", "rungs": [{"name", "what", "shapes": [{"D", "S", "causal",
"direction", "ms", "spread", "base_ms", "base_spread"}]}]}: the base is what was kept of the rungs before,
timed in turns with the rung. In a record without "base_ms" every rung lies on the one before it, whether that
paid or not. Profiles are {"device", "rungs": [{"name", "counters": {counter: value}}]}.
"""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TOKENS, WIDTH = 16384, 2048
"""B · S and H · D of every shape."""
CORNERS = tuple((D, causal) for D in (64, 128) for causal in (False, True))
LEAST_NOISE = 0.01
"""A smaller difference is called none, however steady the timings are."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Gain:
    """What a rung did for one D and mask, by S: its speed over its base's, and the spread of the timings."""

    D: int
    causal: bool
    factors: dict[int, float]
    spreads: dict[int, float]

    @property
    def factor(self) -> float:
        """The geometric mean over S; 0 if the rung did not run for one of them."""
        if not all(self.factors.values()):
            return 0.0
        return math.exp(statistics.fmean(math.log(one) for one in self.factors.values()))

    @property
    def noise(self) -> float:
        """How far from 1 a factor must be to be more than the spread of single calls."""
        return max(LEAST_NOISE, statistics.median(self.spreads.values()))

    @property
    def verdict(self) -> str:
        """ "gain", "loss", or "no gain" within the noise."""
        if self.factor > 1 + self.noise:
            return "gain"
        return "loss" if self.factor < 1 / (1 + self.noise) else "no gain"


def shipped_ladder() -> Record | None:
    """The record of an H200 that comes with the lesson; None if none does."""
    return _read("ladder_h200.json")


def shipped_profiles() -> Record | None:
    """A dozen counters of three kernels, as Nsight Compute read them on an H200; None if none came along."""
    return _read("profiles_h200.json")


def _read(name: str) -> Record | None:
    path = HERE / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def names(record: Record, direction: str = "forward") -> list[str]:
    """The record's rungs in a direction, from the lowest up."""
    return [rung["name"] for rung in record["rungs"] if any(_of(rung, direction))]


def cumulative(record: Record) -> bool:
    """Whether every rung lies on the one before it, also where that one lost: so it is in older records."""
    return not any("base_ms" in shape for rung in record["rungs"] for shape in rung["shapes"])


def gains(record: Record, name: str, direction: str = "forward") -> list[Gain]:
    """What the rung did, for each D and mask; nothing if the record lacks it, or it is the lowest one."""
    found = []
    for D, causal in CORNERS:
        timed = {s["S"]: s for s in based(record, name, direction) if (s["D"], s["causal"]) == (D, causal)}
        if timed:
            factors = {S: s["base_ms"] / s["ms"] if s["ms"] else 0.0 for S, s in timed.items()}
            spreads = {S: max(s["spread"] or 0.0, s["base_spread"] or 0.0) for S, s in timed.items()}
            found.append(Gain(D, causal, factors, spreads))
    return found


def based(record: Record, name: str, direction: str) -> list[Record]:
    """The rung's timings, each with its base's."""
    rungs = [rung for rung in record["rungs"] if any(_of(rung, direction))]
    place = next((n for n, rung in enumerate(rungs) if rung["name"] == name), None)
    if place is None:
        return []
    if not cumulative(record):
        return [shape for shape in _of(rungs[place], direction) if shape.get("base_ms")]
    below = {_key(s): s for s in _of(rungs[place - 1], direction)} if place else {}
    return [
        shape | {"base_ms": below[_key(shape)]["ms"], "base_spread": below[_key(shape)]["spread"]}
        for shape in _of(rungs[place], direction)
        if _key(shape) in below
    ]


def _of(rung: Record, direction: str) -> list[Record]:
    return [shape for shape in rung["shapes"] if shape["direction"] == direction]


def _key(shape: Record) -> tuple[int, int, bool]:
    return shape["D"], shape["S"], shape["causal"]


def rate(shape: Record, milliseconds: float) -> float:
    """TFLOP/s from the credited products: two forward, five backward; half of them under a causal mask."""
    products = 4 if shape["direction"] == "forward" else 10
    operations = products * TOKENS * shape["S"] * WIDTH / (2 if shape["causal"] else 1)
    return operations / (milliseconds * 1e-3) / 1e12


def rates(record: Record, direction: str, D: int, causal: bool) -> dict[str, float]:
    """Each rung's TFLOP/s for a D and mask, as the geometric mean over S; without those that did not run."""
    found = {}
    for rung in record["rungs"]:
        shapes = [s for s in _of(rung, direction) if (s["D"], s["causal"]) == (D, causal)]
        if shapes and all(shape["ms"] for shape in shapes):
            logs = [math.log(rate(shape, shape["ms"])) for shape in shapes]
            found[rung["name"]] = math.exp(statistics.fmean(logs))
    return found


def unsteady(record: Record, limit: float = 0.05) -> list[str]:
    """The timings with a spread above the limit, as rung and shape."""
    return [
        f"{rung['name']}, D {s['D']}, S {s['S']}, {s['direction']}{', causal' if s['causal'] else ''}"
        for rung in record["rungs"]
        for s in rung["shapes"]
        if s["spread"] is not None and s["spread"] > limit
    ]
