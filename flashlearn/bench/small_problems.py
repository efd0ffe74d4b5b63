"""Attention so small that Python's time counts: forward and backward through autograd, beside torch's.

    $ flashlearn bench --small

Each figure is the wall time of one call, from an idle GPU to an idle GPU: the median of several rounds.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from rich.table import Table
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from flashlearn.kernels.attention import flash_attention
from flashlearn.kernels.fast_attention import attention_by, fast_attention
from flashlearn.kernels.gluon.fa3_attention import fa3_attention, is_hopper
from flashlearn.kernels.tuned_backward import tuned_backward
from flashlearn.kernels.tuned_forward import tuned_forward
from flashlearn.machine.timers import WallClockTimer, time_in_turns

SHAPE = (1, 8, 512, 64)
ROUNDS = 5
TORCH = "SDPA"
Attend = Callable[[Tensor, Tensor, Tensor, bool], Tensor]


@dataclass(frozen=True)
class Row:
    """Microseconds of forward and backward pass by contestant, in one precision and with one mask."""

    precision: str
    causal: bool
    microseconds: Mapping[str, float]


def contestants() -> dict[str, Attend]:
    """What is timed, by name; torch's choice first."""
    found: dict[str, Attend] = {
        TORCH: lambda q, k, v, causal: scaled_dot_product_attention(q, k, v, is_causal=causal),
        "lesson 09": flash_attention,
        "lesson 12, its own kernels": functools.partial(_by_autograd, (tuned_forward, tuned_backward)),
        "lesson 12, short path": fast_attention,
    }
    return {**found, "lesson 13, short path": fa3_attention} if is_hopper() else found


def _by_autograd(ways: tuple[Callable, Callable], q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    return attention_by(ways, q, k, v, causal, None)


def measure(
    where: str = "cuda", found: Mapping[str, Attend] | None = None, rounds: int = ROUNDS
) -> list[Row]:
    """A row for each precision and mask, the contestants in turns."""
    rows = []
    for dtype in (torch.float16, torch.bfloat16):
        q, k, v, do = (torch.randn(SHAPE, device=where, dtype=dtype) for _ in range(4))
        leaves = [t.requires_grad_() for t in (q, k, v)]
        for causal in (False, True):
            calls = {
                name: functools.partial(_both, attend, leaves, do, causal)
                for name, attend in (found or contestants()).items()
            }
            medians = [
                [1e3 * one.median for one in time_in_turns([*calls.values()], WallClockTimer())]
                for _ in range(rounds)
            ]
            middle = map(statistics.median, zip(*medians, strict=True))
            rows.append(Row(str(dtype).removeprefix("torch."), causal, dict(zip(calls, middle, strict=True))))
    return rows


def _both(attend: Attend, leaves: list[Tensor], do: Tensor, causal: bool) -> tuple[Tensor, ...]:
    return torch.autograd.grad(attend(*leaves, causal), leaves, do)


def table(rows: list[Row]) -> Table:
    """Microseconds of every contestant, with the ratio to SDPA's."""
    sizes = ", ".join(f"{name} {size}" for name, size in zip("BHSD", SHAPE, strict=True))
    names = list(rows[0].microseconds)
    shown = Table("precision", "mask", *names, title=f"Forward and backward in µs, wall time, {sizes}")
    for row in rows:
        cells = [f"{one:.0f} ({one / row.microseconds[TORCH]:.2f})" for one in row.microseconds.values()]
        shown.add_row(row.precision, "causal" if row.causal else "none", *cells)
    return shown
