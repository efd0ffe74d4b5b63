"""Softmax over rows, forward and backward: one program per row, each row read once.

    >>> p = softmax_forward(torch.tensor([[0.0, 0.0]]))          # [[0.5, 0.5]]
    >>> ds = softmax_backward(p, torch.tensor([[1.0, -1.0]]))    # [[0.5, -0.5]]

Rows may be strided (a slice, a transposed view); results are contiguous. A row must fit into one
block, so the registers of one program bound N: tens of thousands of columns, not millions (lesson 04
takes longer rows in pieces). As with `torch.softmax`, a row of nothing but −inf gives NaN; attention's
own kernels guard that case. The lines between BEGIN and END SOLUTION are lesson 02's exercises.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["softmax_backward", "softmax_forward"]


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    # reads N, writes N elements; s_row, s_col: strides of s, counted in elements
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · s_row may pass 2³¹
    j = tl.arange(0, BLOCK)  # [BLOCK] columns; those from N on are padding
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO softmax_forward: load row i, its maximum, exp, sum, divide, store")
    in_row = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=in_row, other=-float("inf")).to(tl.float32)
    m_i = tl.max(s, axis=0)
    e = tl.exp(s - m_i)  # at most 1; padding holds exp(-inf) = 0 and adds nothing
    l_i = tl.sum(e, axis=0)  # at least 1: the largest score contributes exp(0)
    p = e / l_i
    tl.store(p_ptr + i * p_row + j * p_col, p, mask=in_row)
    ### END SOLUTION


def softmax_forward(s: Tensor) -> Tensor:
    """p = softmax(s) row by row: [M, N] of any strides → [M, N] contiguous, in the dtype of s."""
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    # num_warps: how many groups of 32 threads share a program's block; the result does not depend on it
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p


@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    # reads 2 N, writes N elements; p and dp may be laid out differently
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO softmax_backward: load p and dp, sum their product, store ds")
    in_row = j < N
    # padding holds p = 0 and dp = 0, which adds nothing to the inner product
    p = tl.load(p_ptr + i * p_row + j * p_col, mask=in_row, other=0.0).to(tl.float32)
    dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=in_row, other=0.0).to(tl.float32)
    inner = tl.sum(p * dp, axis=0)  # E_p[dp]: one number for the row
    ds = p * (dp - inner)
    tl.store(ds_ptr + i * ds_row + j * ds_col, ds, mask=in_row)
    ### END SOLUTION


def softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    """ds = p ∘ (dp − ⟨p, dp⟩) row by row: [M, N] of any strides → [M, N] contiguous, in p's dtype."""
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )  # fmt: skip
    return ds
