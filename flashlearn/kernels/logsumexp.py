"""Log-sum-exp of rows longer than a block, and softmax rebuilt from it tile by tile.

    >>> lse = online_logsumexp(torch.zeros(1, 100))              # [log 100] = [4.6052]
    >>> p = recompute_probabilities(torch.zeros(1, 100), lse)    # 0.01 everywhere

Inputs may be strided (a slice, a transposed view); results are contiguous. A row of nothing but −inf has
lse = −inf and p = 0. The lines between BEGIN and END SOLUTION are lesson 04's exercises; the last two
kernels are what lesson 05 counts and times: the sum of each row of P, once from P in memory and once from
Q, K and lse.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["online_logsumexp", "recompute_probabilities", "row_sums_rebuilt", "row_sums_stored"]


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    # reads N elements, each once; writes one number
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · x_row may pass 2³¹
    m_i = tl.full((), -float("inf"), tl.float32)  # of the columns seen so far: their maximum,
    l_i = tl.full((), 0.0, tl.float32)  # and the sum of exp(x − m_i)
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO online_logsumexp: scan the row in blocks, carry m_i and l_i, store")
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing but −inf so far: −inf + inf is NaN
        l_i = l_i * tl.exp(m_i - shift) + tl.sum(tl.exp(x - shift), axis=0)
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log(l_i))
    ### END SOLUTION


def online_logsumexp(x: Tensor) -> Tensor:
    """lse_i = log Σ_j exp(x_ij): [M, N] of any strides → [M] in fp32."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024  # shorter than a long row, however long it is
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse


@triton.jit
def recompute_probabilities_kernel(
    s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, p_row, p_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    # a tile of P from a tile of S and BLOCK_M numbers: no program sees a whole row
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M] rows
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N] columns
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO recompute_probabilities: load a tile of s and its lse, store exp")
    in_rows = i < M
    in_tile = in_rows[:, None] & (j < N)[None, :]
    s_ptrs = s_ptr + i[:, None] * s_row + j[None, :] * s_col
    s = tl.load(s_ptrs, mask=in_tile, other=-float("inf")).to(tl.float32)
    lse = tl.load(lse_ptr + i * lse_row, mask=in_rows, other=0.0)
    shift = tl.where(lse == -float("inf"), 0.0, lse)  # an empty row: exp(−inf − 0) = 0, not exp(−inf + inf)
    p = tl.exp(s - shift[:, None])  # at most 1, and no sum: the row's is in lse already
    tl.store(p_ptr + i[:, None] * p_row + j[None, :] * p_col, p, mask=in_tile)
    ### END SOLUTION


def recompute_probabilities(s: Tensor, lse: Tensor) -> Tensor:
    """p = exp(s − lse): [M, N] and [M] (fp32), any strides → [M, N] contiguous, in the dtype of s."""
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK_M, BLOCK_N = (16, 32) if M * N < 1 << 16 else (32, 128)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    recompute_probabilities_kernel[grid](
        s, lse, p, M, N, *s.stride(), *lse.stride(), *p.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return p


@triton.jit
def row_sums_rebuilt_kernel(
    q_ptr, k_ptr, lse_ptr, sums_ptr, S_q, S_k, alpha,
    D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    # reads D · (BLOCK_Q + S_k) elements and BLOCK_Q numbers; writes BLOCK_Q numbers
    i = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    head = tl.program_id(1).to(tl.int64)
    d = tl.arange(0, D)
    in_queries = i < S_q
    q_ptrs = q_ptr + head * S_q * D + i[:, None] * D + d[None, :]
    q = tl.load(q_ptrs, mask=in_queries[:, None], other=0.0)
    lse = tl.load(lse_ptr + head * S_q + i, mask=in_queries, other=0.0)
    sums = tl.zeros((BLOCK_Q,), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        j = start + tl.arange(0, BLOCK_K)
        k_ptrs = k_ptr + head * S_k * D + j[:, None] * D + d[None, :]
        k = tl.load(k_ptrs, mask=(j < S_k)[:, None], other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.where((j < S_k)[None, :], tl.exp(s - lse[:, None]), 0.0)  # P, rebuilt: it lives in registers
        sums += tl.sum(p, axis=1)
    tl.store(sums_ptr + head * S_q + i, sums, mask=in_queries)


def row_sums_rebuilt(q: Tensor, k: Tensor, lse: Tensor, alpha: float, block: int = 32) -> Tensor:
    """Σ_j exp(alpha q_i·k_j − lse_i), which is 1: contiguous [H, S_q, D], [H, S_k, D], [H, S_q] → [H, S_q].

    D is a power of two ≥ 16; every row has a key. P is rebuilt and never stored.
    """
    H, S_q, D = q.shape
    sums = torch.empty((H, S_q), dtype=torch.float32, device=q.device)
    row_sums_rebuilt_kernel[(triton.cdiv(S_q, block), H)](
        q, k, lse, sums, S_q, k.shape[1], alpha,
        D=D, BLOCK_Q=block, BLOCK_K=block, num_warps=4 if block < 128 else 8,
    )  # fmt: skip
    return sums


@triton.jit
def row_sums_stored_kernel(p_ptr, sums_ptr, S_q, S_k, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    # reads BLOCK_Q · S_k elements; writes BLOCK_Q numbers
    i = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    head = tl.program_id(1).to(tl.int64)
    in_queries = i < S_q
    sums = tl.zeros((BLOCK_Q,), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        j = start + tl.arange(0, BLOCK_K)
        p_ptrs = p_ptr + (head * S_q + i[:, None]) * S_k + j[None, :]  # 64 bits: H · S_q · S_k may pass 2³¹
        p = tl.load(p_ptrs, mask=in_queries[:, None] & (j < S_k)[None, :], other=0.0)
        sums += tl.sum(p.to(tl.float32), axis=1)
    tl.store(sums_ptr + head * S_q + i, sums, mask=in_queries)


def row_sums_stored(p: Tensor, block: int = 32) -> Tensor:
    """Σ_j p_ij: contiguous [H, S_q, S_k] → [H, S_q] in fp32. P comes from memory."""
    H, S_q, S_k = p.shape
    sums = torch.empty((H, S_q), dtype=torch.float32, device=p.device)
    row_sums_stored_kernel[(triton.cdiv(S_q, block), H)](
        p, sums, S_q, S_k, BLOCK_Q=block, BLOCK_K=block, num_warps=4 if block < 128 else 8
    )
    return sums
