"""The forward pass of lesson 13 in other orders, to look at: what overlaps with what, and who takes turns.

>>> o, lse = in_order(q, k, v)                # a product, its softmax, the other product, one after the other
>>> o, lse = by_turns(q, k, v)                # the package's kernel, whose consumers exchange turns
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.kernels.gluon.fa3_forward import Cut
from flashlearn.kernels.gluon.fa3_forward import fa3_forward as shipped
from flashlearn.lessons.lesson_13_hopper import written
from flashlearn.lessons.lesson_13_hopper.fa3_forward_edits import ACC_WAIT, PV, S_WAIT, V_FULL, kernel
from flashlearn.lessons.shared.variants import variant

ORDERED = (
    (PV, ""),
    (V_FULL, ""),
    (S_WAIT, "        s = warpgroup_mma_wait(0, deps=[s])\n"),
    (ACC_WAIT, V_FULL + PV + ACC_WAIT),
)
"""O += P V of the block before is issued after the softmax, and waited for at once."""


@functools.cache
def _variant(edits: tuple[tuple[str, str], ...]) -> Callable:
    return variant(kernel.launcher, *kernel.kernels, edits=edits)


def in_order(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """`simple_fa3.fa3_forward` without any overlap within a consumer."""
    return _variant(ORDERED)(q, k, v)


def on_their_own(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """The package's kernel; its consumers do not look at each other."""
    return shipped(q, k, v, cut=Cut(pingpong=False))


def by_turns(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """The package's kernel; its consumers ask for products by turns."""
    return shipped(q, k, v, cut=Cut(pingpong=True))


@functools.cache
def spilled(shares: tuple[int, int], D: int = 128) -> int:
    """Bytes that each thread of `simple_fa3.fa3_forward` spills on an H100, with these shares of registers.

    `shares` are the registers of a thread of the second consumer and of the producer.
    """
    edit = ("[240, 24]", f"[{shares[0]}, {shares[1]}]")
    x = torch.zeros(1, 1, 256, D, dtype=torch.bfloat16)
    launcher = kernel.launcher if shares == (240, 24) else _variant((edit,))
    return written.spilled(launcher, x, x, x)[1]
