"""Kernels of lesson 04 that are wrong on purpose: mistakes that a formula in torch cannot make.

Each launcher has one named fault and the right answer everywhere else. Lesson 04 declares them with the
verdict that they must get; its tests hold the check to it. None of this is ever shown as a solution.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = [
    "online_in_half_precision",
    "online_with_columns_one_apart",
    "online_without_mask",
    "recompute_with_lse_by_column",
    "recompute_with_lse_in_half_precision",
    "recompute_with_lse_one_apart",
    "recompute_with_the_strides_of_s",
    "recompute_without_row_mask",
]


@triton.jit
def _online_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr, FAULT: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x_ptrs = x_ptr + i * x_row + j * x_col
        if FAULT == "one apart":
            x_ptrs = x_ptr + i * x_row + j
        if FAULT == "no mask":
            x = tl.where(j < N, tl.load(x_ptrs), -float("inf")).to(tl.float32)
        else:
            x = tl.load(x_ptrs, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        e = tl.exp(x - shift)
        if FAULT == "half":
            e = e.to(x_ptr.dtype.element_ty)
        l_i = l_i * tl.exp(m_i - shift) + tl.sum(e, axis=0).to(tl.float32)
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log(l_i))


def _online(x: Tensor, fault: str) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    _online_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK, FAULT=fault)
    return lse


def online_without_mask(x: Tensor) -> Tensor:
    """Loads all BLOCK lanes of the last block: those of the last row lie beyond the tensor."""
    return _online(x, "no mask")


def online_with_columns_one_apart(x: Tensor) -> Tensor:
    """Ignores the column stride, which is not 1 in a transposed view."""
    return _online(x, "one apart")


def online_in_half_precision(x: Tensor) -> Tensor:
    """Rounds the exponentials to x's dtype and sums each block in it."""
    return _online(x, "half")


@triton.jit
def _recompute_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_rows, in_columns = i < M, j < N
    in_tile = in_rows[:, None] & in_columns[None, :]
    if FAULT == "rows":
        in_rows = i >= 0
        in_tile = in_rows[:, None] & in_columns[None, :]
    s_ptrs = s_ptr + i[:, None] * s_row + j[None, :] * s_col
    s = tl.load(s_ptrs, mask=in_tile, other=-float("inf")).to(tl.float32)
    if FAULT == "by column":
        lse = tl.load(lse_ptr + j * lse_row, mask=in_columns, other=0.0)
    elif FAULT == "one apart":
        lse = tl.load(lse_ptr + i, mask=in_rows, other=0.0)
    else:
        lse = tl.load(lse_ptr + i * lse_row, mask=in_rows, other=0.0)
    if FAULT == "half":
        lse = lse.to(s_ptr.dtype.element_ty).to(tl.float32)
    shift = tl.where(lse == -float("inf"), 0.0, lse)
    p = tl.exp(s - (shift[None, :] if FAULT == "by column" else shift[:, None]))
    if FAULT == "strides of s":
        tl.store(p_ptr + i[:, None] * s_row + j[None, :] * s_col, p, mask=in_tile)
    else:
        tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=in_tile)


def _recompute(s: Tensor, lse: Tensor, fault: str) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 32))
    _recompute_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=16, BLOCK_N=32, FAULT=fault
    )
    return p


def recompute_with_lse_by_column(s: Tensor, lse: Tensor) -> Tensor:
    """Reads lse at the column's index."""
    return _recompute(s, lse, "by column")


def recompute_without_row_mask(s: Tensor, lse: Tensor) -> Tensor:
    """Masks columns only."""
    return _recompute(s, lse, "rows")


def recompute_with_the_strides_of_s(s: Tensor, lse: Tensor) -> Tensor:
    """Stores p at the offsets of s, which differ when s is a view."""
    return _recompute(s, lse, "strides of s")


def recompute_with_lse_one_apart(s: Tensor, lse: Tensor) -> Tensor:
    """Ignores the stride of lse."""
    return _recompute(s, lse, "one apart")


def recompute_with_lse_in_half_precision(s: Tensor, lse: Tensor) -> Tensor:
    """Rounds lse to the dtype of s."""
    return _recompute(s, lse, "half")
