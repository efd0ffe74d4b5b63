"""A row's logsumexp with the scale folded into powers of two: lesson 12's first rung, by itself.

    >>> folded_logsumexp(torch.zeros(1, 4), torch.tensor([3]), -0.5)      # log 3

x [M, N] holds products q · k that no scale has met; row i counts its first `lengths[i]` columns. The lines
between BEGIN and END SOLUTION are the exercise.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["folded_logsumexp"]


@triton.jit
def folded_logsumexp_kernel(
    x_ptr, lengths_ptr, lse_ptr, alpha, M, N, x_row, x_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):  # fmt: skip
    # reads BLOCK_M rows of x, tile by tile; writes as many numbers
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    in_rows = rows < M
    length = tl.load(lengths_ptr + rows, mask=in_rows, other=0)
    row_ptrs = x_ptr + rows.to(tl.int64)[:, None] * x_row
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO folded_logsumexp: one scan; each x meets one factor")
    sign = tl.where(alpha < 0, -1.0, 1.0)
    c = tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)  # |alpha| log2 e; 0 · −∞ would be NaN
    m_i = tl.full((BLOCK_M,), -float("inf"), tl.float32)  # the largest sign · x so far
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, N, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        seen = in_rows[:, None] & (columns[None, :] < length[:, None])
        x = tl.load(row_ptrs + columns[None, :] * x_col, mask=seen, other=0.0).to(tl.float32)
        x = tl.where(seen, sign * x, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(x, axis=1))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new * c)
        l_i = l_i * tl.exp2(m_i * c - shift) + tl.sum(tl.exp2(x * c - shift[:, None]), axis=1)
        m_i = m_new
    # m c is in base 2, and l a sum as it is: only the maximum goes back, by ln 2
    lse = tl.where(l_i == 0.0, -float("inf"), m_i * c * 0.6931471805599453 + tl.log(l_i))
    tl.store(lse_ptr + rows, lse, mask=in_rows)
    ### END SOLUTION


def folded_logsumexp(x: Tensor, lengths: Tensor, alpha: float) -> Tensor:
    """log Σ_j exp(alpha x_ij) over j < lengths[i], in fp32: [M, N] and [M] → [M]; −inf for a length of 0."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK_M, BLOCK_N = 16, 64
    folded_logsumexp_kernel[(triton.cdiv(M, BLOCK_M),)](
        x, lengths, lse, alpha, M, N, *x.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return lse
