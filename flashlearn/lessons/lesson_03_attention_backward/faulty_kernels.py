"""Delta kernels that are wrong on purpose: mistakes that a formula in torch cannot make.

Each launcher has one named fault and the right answer everywhere else. Lesson 03 declares them with the
verdict that they must get; its tests hold the check to it. None of this is ever shown as a solution.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = [
    "in_half_precision",
    "one_delta_for_all_heads",
    "strides_of_o_for_do",
    "with_heads_in_one_row",
    "without_mask_in_d",
    "without_mask_in_s",
]


@triton.jit
def _delta_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D, o_b, o_h, o_s, o_d, do_b, do_h, do_s, do_d,
    BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    bh = b * H + h
    i = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, BLOCK_D)
    o_head = bh * o_h if FAULT == "heads in one row" else b * o_b + h * o_h
    do_head = bh * do_h if FAULT == "heads in one row" else b * do_b + h * do_h
    o_ptrs = o_ptr + o_head + i[:, None] * o_s + d[None, :] * o_d
    do_ptrs = do_ptr + do_head + i[:, None] * do_s + d[None, :] * do_d
    if FAULT == "strides of o":
        do_ptrs = do_ptr + o_head + i[:, None] * o_s + d[None, :] * o_d
    in_s, in_d = (i < S)[:, None], (d < D)[None, :]
    if FAULT == "no mask in d":
        in_d = (d < BLOCK_D)[None, :]
    if FAULT == "no mask in s":
        in_s = (i >= 0)[:, None]
    o = tl.load(o_ptrs, mask=in_s & in_d, other=0.0)
    do = tl.load(do_ptrs, mask=in_s & in_d, other=0.0)
    if FAULT != "half":
        o = o.to(tl.float32)
        do = do.to(tl.float32)
    delta = tl.sum(o * do, axis=1)
    if FAULT == "one delta":
        tl.store(delta_ptr + i, delta, mask=i < S)
    else:
        tl.store(delta_ptr + bh * S + i, delta, mask=i < S)


def _delta(o: Tensor, do: Tensor, fault: str) -> Tensor:
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    BLOCK_S, BLOCK_D = 32, triton.next_power_of_2(D)
    _delta_kernel[(triton.cdiv(S, BLOCK_S), H, B)](
        o, do, delta, H, S, D, *o.stride(), *do.stride(), BLOCK_S=BLOCK_S, BLOCK_D=BLOCK_D, FAULT=fault
    )
    return delta


def without_mask_in_d(o: Tensor, do: Tensor) -> Tensor:
    """Loads all BLOCK_D columns: the next query's numbers, and past the end in the last one."""
    return _delta(o, do, "no mask in d")


def without_mask_in_s(o: Tensor, do: Tensor) -> Tensor:
    """Loads all BLOCK_S rows: the next head's queries, and past the end in the last one."""
    return _delta(o, do, "no mask in s")


def strides_of_o_for_do(o: Tensor, do: Tensor) -> Tensor:
    """Loads do at the offsets of o, which differ when one of them is a view."""
    return _delta(o, do, "strides of o")


def with_heads_in_one_row(o: Tensor, do: Tensor) -> Tensor:
    """Takes head h of batch entry b to be at (b · H + h) · o_h, as if batch and head were one dimension."""
    return _delta(o, do, "heads in one row")


def one_delta_for_all_heads(o: Tensor, do: Tensor) -> Tensor:
    """Stores every head's delta into the first head's slots."""
    return _delta(o, do, "one delta")


def in_half_precision(o: Tensor, do: Tensor) -> Tensor:
    """Multiplies and sums in the dtype of the inputs."""
    return _delta(o, do, "half")
