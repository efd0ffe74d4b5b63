"""The forward pass of lesson 13 in other orders, to look at: what overlaps with what, and who takes turns.

>>> o, lse = in_order(q, k, v)                # a product, its softmax, the other product, one after the other
>>> o, lse = by_turns(q, k, v)                # the package's kernel, whose consumers exchange turns
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.compiler.listing import listing
from flashlearn.interpreter.route import observing
from flashlearn.kernels.gluon.fa3_forward import Cut
from flashlearn.kernels.gluon.fa3_forward import fa3_forward as shipped
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


def given_registers(launcher: Callable = shipped, D: int = 128) -> list[str]:
    """The `setmaxnreg` instructions of the kernel as it is compiled for an H100, in their order."""
    x = torch.zeros(1, 1, 256, D, dtype=torch.bfloat16)
    with observing() as (session, _):
        launcher(x, x, x)
    ptx = str(listing(session.launches[-1], 90)["ptx"])
    return re.findall(r"setmaxnreg\.\w+\.\S+\s+\d+", ptx)
