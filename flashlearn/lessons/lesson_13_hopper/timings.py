"""This lesson's kernels timed side by side on a Hopper GPU; elsewhere, what an H200's record says.

    >>> record = timings()                         # measured where there is a Hopper GPU
    >>> record["forward"]["as taught"]             # milliseconds: B 4, H 16, S 4096, D 128, bf16, all keys

`python -m flashlearn.lessons.lesson_13_hopper.timings` measures, and writes the record that is shipped.
"""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton

from flashlearn.kernels.gluon.fa3_attention import is_hopper
from flashlearn.kernels.gluon.fa3_backward import fa3_backward
from flashlearn.kernels.gluon.fa3_forward import Cut, fa3_forward
from flashlearn.kernels.gluon.specialised_matmul import specialised_matmul
from flashlearn.kernels.gluon.wgmma_matmul import wgmma_matmul
from flashlearn.kernels.tuned_backward import tuned_backward
from flashlearn.kernels.tuned_forward import tuned_forward
from flashlearn.lessons.lesson_13_hopper import simple_fa3, taught_backward
from flashlearn.machine.timers import time_in_turns

SHIPPED = Path(__file__).with_name("timings_h200.json")
TAUGHT, TRITON, FAST = "as taught", "lesson 12, in Triton", "the package's, in Gluon"
TOGETHER, SPECIALISED = "eight warps do everything", "a producer and two consumers"
OWN, BY_TURNS = "on their own", "by turns"
TURNS = tuple((S, D) for D in (64, 128) for S in (512, 1024, 4096, 16384))

Record = dict[str, Any]
Calls = dict[str, Callable[[], object]]


def timings() -> Record:
    """This GPU's times if it is a Hopper GPU, else the record's, which may lack some of them."""
    return measure() if is_hopper() else json.loads(SHIPPED.read_text(encoding="utf-8"))


def measure() -> Record:
    """All comparisons on this GPU, in milliseconds. Raises RuntimeError where there is no Hopper GPU."""
    if not is_hopper():
        raise RuntimeError("these kernels are timed on a Hopper GPU, and here is none")
    groups = {"forward": _forward(), "backward": _backward(), "product": _products()}
    groups |= {f"turns, S {S}, D {D}": _turns(S, D) for S, D in TURNS}
    return {
        "device": torch.cuda.get_device_name(),
        "versions": {"torch": torch.__version__, "triton": triton.__version__},
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        **{name: _timed(calls) for name, calls in groups.items()},
    }


def _timed(calls: Calls) -> dict[str, float]:
    figures = time_in_turns(list(calls.values()), seconds=0.3)
    return {name: round(one.median, 4) for name, one in zip(calls, figures, strict=True)}


def _drawn(*shape: int, count: int) -> list[torch.Tensor]:
    return [torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(count)]


def _forward() -> Calls:
    q, k, v = _drawn(4, 16, 4096, 128, count=3)
    kernels = {TAUGHT: simple_fa3.fa3_forward, TRITON: tuned_forward, FAST: fa3_forward}
    return {name: functools.partial(kernel, q, k, v, False, 128**-0.5) for name, kernel in kernels.items()}


def _backward() -> Calls:
    q, k, v, do = _drawn(4, 16, 4096, 128, count=4)
    alpha = 128**-0.5
    o, lse = fa3_forward(q, k, v, False, alpha)
    kernels = {TAUGHT: taught_backward.fa3_backward, TRITON: tuned_backward, FAST: fa3_backward}
    return {
        name: functools.partial(kernel, q, k, v, o, do, lse, False, alpha) for name, kernel in kernels.items()
    }


def _products() -> Calls:
    a, b = _drawn(8192, 8192, count=2)
    together = functools.partial(wgmma_matmul, a, b, block=(128, 256, 64), stages=3)
    return {TOGETHER: together, SPECIALISED: functools.partial(specialised_matmul, a, b)}


def _turns(S: int, D: int) -> Calls:
    q, k, v = _drawn(16384 // S, 2048 // D, S, D, count=3)
    return {
        name: functools.partial(fa3_forward, q, k, v, cut=Cut(pingpong=pingpong))
        for name, pingpong in ((OWN, False), (BY_TURNS, True))
    }


def title(record: Record) -> str:
    """Where and when it was measured, in a line."""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return f"{record['device']}, {record['date']}, {versions}"


def table(record: Record, *groups: str) -> str:
    """The times of some comparisons as lines, with the speed relative to each one's first entry."""
    lines = [title(record)]
    for group in groups:
        times = record.get(group, {})
        first = next(iter(times.values()), None)
        lines += [
            f"{group:>20}  {name:28} {taken:7.3f} ms  {first / taken:5.2f} ×" for name, taken in times.items()
        ]
        if not times:
            lines.append(f"{group:>20}  not measured: a Hopper GPU measures it here")
    return "\n".join(lines)


if __name__ == "__main__":
    SHIPPED.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8")
    print(table(json.loads(SHIPPED.read_text(encoding="utf-8")), "forward", "backward", "product"))
