"""Answers to lesson 02, written without a look at what the grader knows: the fourteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "softmax_jacobian",
    "line `return`: on the diagonal 1 - p_k is taken without the factor p_k",
    "one edit",
)(
    written(
        """
def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    n = len(p)
    return sp.Matrix(n, n, lambda k, j: 1 - p[k] if k == j else -p[k] * p[j])
""",
        title="square on diagonal",
    )
)

wrong(
    "softmax_vjp",
    "line `centre`: the mean of dp is the plain mean over N, not the one weighted by p",
    "plain mean of dp",
)(
    written(
        """
def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    N = p.rows
    centre = sum(dp) / N
    return sp.Matrix([p[j] * (dp[j] - centre) for j in range(N)])
""",
        title="dp weighted twice",
    )
)

wrong(
    "log_softmax_vjp",
    "line `return`: uses the softmax formula, p ∘ (dlog − sum dlog)",
    "times p",
)(
    written(
        """
def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    total = sum(dlog)
    return sp.Matrix([p[i] * (dlog[i] - total) for i in range(p.rows)])
""",
        title="softmax rule reused",
    )
)

wrong(
    "softmax_forward",
    "line `s = tl.load`: padding is 0, so it takes part in maximum and sum",
    "padding enters the sum",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    # reads N, writes N elements; s_row, s_col: strides of s, counted in elements
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · s_row may pass 2³¹
    j = tl.arange(0, BLOCK)  # [BLOCK] columns; those from N on are padding
    in_row = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=in_row, other=0.0).to(tl.float32)
    m_i = tl.max(s, axis=0)
    e = tl.exp(s - m_i)  # at most 1; padding holds exp(-inf) = 0 and adds nothing
    l_i = tl.sum(e, axis=0)  # at least 1: the largest score contributes exp(0)
    p = e / l_i
    tl.store(p_ptr + i * p_row + j * p_col, p, mask=in_row)


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
''',
        title="padding zero",
    )
)

wrong(
    "softmax_forward",
    "line `m_i`: the shift is the largest absolute value, so rows of large negative scores underflow to 0/0",
    "zero over zero",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
  
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    in_row = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=in_row, other=-float("inf")).to(tl.float32)
    m_i = tl.max(tl.abs(s), axis=0)
    e = tl.exp(s - m_i)
    l_i = tl.sum(e, axis=0)
    p = e / l_i
    tl.store(p_ptr + i * p_row + j * p_col, p, mask=in_row)


def softmax_forward(s: Tensor) -> Tensor:
    """p = softmax(s) row by row: [M, N] of any strides → [M, N] contiguous, in the dtype of s."""
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
  
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
''',
        title="max of absolute",
    )
)

wrong(
    "softmax_backward",
    "line `dp = tl.load`: dp is read with the strides of p",
    "strides of p used for dp",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    # reads 2 N, writes N elements; p and dp may be laid out differently
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    in_row = j < N
    # padding holds p = 0 and dp = 0, which adds nothing to the inner product
    p = tl.load(p_ptr + i * p_row + j * p_col, mask=in_row, other=0.0).to(tl.float32)
    dp = tl.load(dp_ptr + i * p_row + j * p_col, mask=in_row, other=0.0).to(tl.float32)
    inner = tl.sum(p * dp, axis=0)  # E_p[dp]: one number for the row
    ds = p * (dp - inner)
    tl.store(ds_ptr + i * ds_row + j * ds_col, ds, mask=in_row)


def softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    """ds = p ∘ (dp − ⟨p, dp⟩) row by row: [M, N] of any strides → [M, N] contiguous, in p's dtype."""
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )
    return ds
''',
        title="dp strides of p",
    )
)
