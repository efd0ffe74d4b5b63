"""What only a GPU shows of one pass: how many shares of dQ are lost without an atomic, and what atomics cost.

>>> for case in lost():                             # here, or what a GPU gave; nothing without either
...     case["S"], case["ways"]["load, add, store"]  # the fraction of the shares that was lost, for each run

$ python -m flashlearn.lessons.lesson_11_one_pass.measured > one_pass_h200.json      # on a GPU
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import triton
from torch import Tensor

from flashlearn.kernels.flash_backward_dkv import dkv_kernel
from flashlearn.kernels.flash_backward_dq import dq_kernel
from flashlearn.kernels.flash_forward import flash_forward
from flashlearn.kernels.fused_backward import fused_backward_atomic, fused_keys_kernel
from flashlearn.lessons.lesson_11_one_pass.faulty_kernels import faulty
from flashlearn.lessons.shared.variants import Edits, variant
from flashlearn.machine import device
from flashlearn.machine.timers import time_in_turns

Record = dict[str, Any]

RECORD = Path(__file__).parent / "one_pass_h200.json"
BLOCK, D = 64, 64
RUNS = 20
LOST = ((1, 128), (1, 4096), (64, 4096))
"""Heads, queries and keys of the launches whose shares are counted."""
TIMED = ((64, 4096), (2, 16384))
"""Heads, queries and keys of the launches that are timed."""

_TURNED: Edits = (
    (
        "    for start in range(first, S_q, BLOCK_Q):\n        rows = start + queries",
        "    span = tl.cdiv(S_q - first, BLOCK_Q) * BLOCK_Q\n"
        "    turn = tl.program_id(0) * BLOCK_Q % tl.maximum(span, 1)\n"
        "    for start in range(first, S_q, BLOCK_Q):\n"
        "        at = start + turn\n"
        "        rows = tl.where(at < first + span, at, at - span) + queries",
    ),
)
_ADDED = 'tl.atomic_add(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")'
_FROM_L2 = 'tl.load(dq_ptr + dq_tile, mask=in_tile, other=0.0, cache_modifier=".cg")'

starts_apart = variant(fused_backward_atomic, fused_keys_kernel, edits=_TURNED)
"""fused_backward_atomic where program j begins at the j-th block of queries that it visits."""
past_l1 = variant(
    fused_backward_atomic,
    fused_keys_kernel,
    edits=((_ADDED, f"tl.store(dq_ptr + dq_tile, {_FROM_L2} + share, mask=in_tile)"),),
)
"""Load, add, store, where the load bypasses L1 and reads what L2 has."""

WAYS: dict[str, Callable] = {
    "load, add, store": faulty("fused_backward_atomic", "load, add, store"),
    "the same, loaded from L2": past_l1,
    "atomic add": fused_backward_atomic,
}


# ---------------------------------------------------------------- shares that are lost


def shares_of_one(heads: int, S: int, where: str) -> tuple[Any, ...]:
    """Arguments of a one-pass launcher in fp16 for which every block of keys has a share of 1 in all of dQ.

    Q, LSE and O are 0, so P is 1 and delta 0; dO and V have a 1 in one column, so dS = dP = 1; and the keys
    of a block add up to 1. Then an element of dQ *counts* the shares that arrived, exactly.
    """
    zeros = torch.zeros(1, heads, S, D, dtype=torch.float16, device=where)
    ones = zeros.clone()
    ones[..., 0] = 1.0
    keys = torch.full_like(zeros, 1 / BLOCK)
    return zeros, keys, ones, zeros, ones, zeros[..., 0].float(), 1.0, False


def fraction_lost(launcher: Callable, heads: int, S: int, where: str = "cuda") -> float:
    """Of all shares of all elements of dQ, the fraction that one launch lost."""
    arrived: Tensor = launcher(*shares_of_one(heads, S, where), block=BLOCK)[0]
    return 1 - float(arrived.double().mean()) / (S // BLOCK)


def measure_lost(runs: int = RUNS) -> list[Record]:
    """For each launch of LOST and each way of adding, the fraction lost in each of so many runs."""
    return [
        {
            "heads": heads,
            "S": S,
            "ways": {
                name: [fraction_lost(launcher, heads, S) for _ in range(runs)]
                for name, launcher in WAYS.items()
            },
        }
        for heads, S in LOST
    ]


# ---------------------------------------------------------------- what atomics cost


def timed_calls(heads: int, S: int) -> dict[str, Callable[[], object]]:
    """Calls to time on a GPU, in fp16: both kernels of lessons 07 and 08, and one pass in three ways."""
    q, k, v, do = (torch.randn(1, heads, S, D, device="cuda", dtype=torch.float16) for _ in range(4))
    alpha = D**-0.5
    o, lse = flash_forward(q, k, v, alpha)
    given = (q, k, v, o, do, lse, alpha)
    stored = faulty("fused_backward_atomic", "stored, not added")
    return {
        "dQ alone, 3 products": lambda: dq_kernel(*given),
        "dK and dV alone, 4 products": lambda: dkv_kernel(*given),
        "one pass, all start at query 0": lambda: fused_backward_atomic(*given, False, block=BLOCK),
        "one pass, each starts elsewhere": lambda: starts_apart(*given, False, block=BLOCK),
        "one pass, stored and not added": lambda: stored(*given, False, block=BLOCK),
    }


def measure_times() -> list[Record]:
    """For each launch of TIMED, milliseconds and spread of each call, taking turns."""
    found = []
    for heads, S in TIMED:
        calls = timed_calls(heads, S)
        timings = dict(zip(calls, time_in_turns(list(calls.values())), strict=True))
        ms = {name: one.median for name, one in timings.items()}
        found.append(
            {"heads": heads, "S": S, "ms": ms, "spread": {n: one.spread for n, one in timings.items()}}
        )
    return found


# ---------------------------------------------------------------- here, or the record


def measure() -> Record:
    """Both on this GPU. Raises RuntimeError without one."""
    if not device.has_gpu():
        raise RuntimeError("this is measured on a GPU, and here is none: see lost() and times()")
    return _made_here() | {"lost": measure_lost(), "times": measure_times()}


def _made_here() -> Record:
    versions = {"torch": torch.__version__, "triton": triton.__version__}
    return {"device": torch.cuda.get_device_name(), "versions": versions}


@functools.cache
def shipped() -> Record | None:
    """The record of an H200 that comes with the lesson; None if none does."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else None


def lost() -> list[Record]:
    """`measure_lost` on this GPU, or what the record has; an empty list without either."""
    return _found("lost", measure_lost)


def times() -> list[Record]:
    """`measure_times` on this GPU, or what the record has; an empty list without either."""
    return _found("times", measure_times)


def _found(part: str, measured: Callable[[], list[Record]]) -> list[Record]:
    here = device.has_gpu()
    record = _made_here() | {part: measured()} if here else shipped()
    if record is None:
        print("No GPU here, and no record of one: nothing to show.")
        return []
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    print(f"Measured {'here' if here else 'for this lesson'}: {record['device']}, {versions}.")
    return record[part]


if __name__ == "__main__":
    json.dump(measure(), sys.stdout, indent=1)
