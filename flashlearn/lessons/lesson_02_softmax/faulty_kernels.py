"""Softmax kernels that are wrong on purpose: mistakes that a formula in torch cannot make.

Each launcher has one named fault and the right answer everywhere else. Lesson 02 declares them with the
verdict that they must get; its tests hold the check to it. None of this is ever shown as a solution.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = [
    "backward_in_half_precision",
    "backward_with_one_stride_for_two",
    "backward_without_mask",
    "forward_in_half_precision",
    "forward_with_the_strides_of_s",
    "forward_without_mask",
]


@triton.jit
def _forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr, FAULT: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    in_row = j < N
    if FAULT == "no mask":
        s = tl.where(in_row, tl.load(s_ptr + i * s_row + j * s_col), -float("inf"))
    else:
        s = tl.load(s_ptr + i * s_row + j * s_col, mask=in_row, other=-float("inf"))
    e = tl.exp(s.to(tl.float32) - tl.max(s, axis=0))
    if FAULT == "half":
        e = e.to(tl.float16)
    p = e / tl.sum(e, axis=0)
    if FAULT == "strides of s":
        tl.store(p_ptr + i * s_row + j * s_col, p, mask=in_row)
    else:
        tl.store(p_ptr + i * p_row + j * p_col, p, mask=in_row)


@triton.jit
def _backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, BLOCK: tl.constexpr, FAULT: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    in_row = j < N
    dp_ptrs = dp_ptr + i * dp_row + j * dp_col
    if FAULT == "one stride":
        dp_ptrs = dp_ptr + i * p_row + j * p_col
    if FAULT == "no mask":
        p = tl.where(in_row, tl.load(p_ptr + i * p_row + j * p_col), 0.0)
        dp = tl.where(in_row, tl.load(dp_ptrs), 0.0)
    else:
        p = tl.load(p_ptr + i * p_row + j * p_col, mask=in_row, other=0.0)
        dp = tl.load(dp_ptrs, mask=in_row, other=0.0)
    if FAULT != "half":
        p = p.to(tl.float32)
        dp = dp.to(tl.float32)
    ds = p * (dp - tl.sum(p * dp, axis=0))
    tl.store(ds_ptr + i * N + j, ds, mask=in_row)


def _forward(s: Tensor, fault: str) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    _forward_kernel[(M,)](s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, FAULT=fault)
    return p


def _backward(p: Tensor, dp: Tensor, fault: str) -> Tensor:
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    _backward_kernel[(M,)](p, dp, ds, N, *p.stride(), *dp.stride(), BLOCK=BLOCK, FAULT=fault)
    return ds


def forward_without_mask(s: Tensor) -> Tensor:
    """Loads all BLOCK lanes: the last row's padding lies beyond the tensor."""
    return _forward(s, "no mask")


def forward_with_the_strides_of_s(s: Tensor) -> Tensor:
    """Stores p at the offsets of s, which differ when s is a view."""
    return _forward(s, "strides of s")


def forward_in_half_precision(s: Tensor) -> Tensor:
    """Rounds the exponentials to fp16, then sums and divides them in fp16."""
    return _forward(s, "half")


def backward_without_mask(p: Tensor, dp: Tensor) -> Tensor:
    """Loads all BLOCK lanes: the last row's padding lies beyond the tensors."""
    return _backward(p, dp, "no mask")


def backward_with_one_stride_for_two(p: Tensor, dp: Tensor) -> Tensor:
    """Loads dp at the offsets of p, which differ when one of them is a view."""
    return _backward(p, dp, "one stride")


def backward_in_half_precision(p: Tensor, dp: Tensor) -> Tensor:
    """Multiplies and sums in the dtype of the inputs."""
    return _backward(p, dp, "half")
