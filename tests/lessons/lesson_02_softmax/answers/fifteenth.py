"""Answers to lesson 02, written without a look at what the grader knows: the fifteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "softmax_jacobian",
    "sp.eye stands where diag(p) belongs: the diagonal is 1 - p_k^2 instead of p_k - p_k^2",
    "the identity for diag(p)",
)(
    written(
        '''
def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    """J with J[k, j] = ∂p_k/∂s_j: a column [N, 1] → [N, N]."""
    outer = p * p.T
    return sp.eye(p.rows) - outer
''',
        title="identity for diag",
    )
)

wrong(
    "softmax_vjp",
    "the inner product is subtracted outside the bracket: p∘dp − <p, dp>, without the factor p_j "
    "on the second term",
    "p on dp alone",
)(
    written(
        '''
def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    """ds = Jᵀ dp without J: two columns [N, 1] → a column [N, 1]."""
    weighted = p.multiply_elementwise(dp)
    total = sum(weighted)
    return weighted - total * sp.ones(p.rows, 1)
''',
        title="inner without p",
    )
)

wrong(
    "log_softmax_vjp",
    "returns dlog − p, which is right only where the entries of dlog sum to 1 (the cross-entropy "
    "shortcut); the factor sum(dlog) on p is missing",
    "one class",
)(
    written(
        '''
def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    """ds for l = log softmax(s), from p = softmax(s) and dlog = ∂L/∂l: two columns [N, 1] → a column [N, 1]."""
    return dlog - p
''',
        title="cross entropy shortcut",
    )
)

wrong(
    "softmax_forward",
    "`biggest` starts at 0, so a row whose scores are all far below 0 is shifted by 0 and not by "
    "its maximum: exp underflows and 0 / 0 is NaN",
    "one edit",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    # reads N, writes N elements; s_row, s_col: strides of s, counted in elements
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · s_row may pass 2³¹
    j = tl.arange(0, BLOCK)  # [BLOCK] columns; those from N on are padding
    keep = j < N
    row = tl.load(s_ptr + i * s_row + j * s_col, mask=keep, other=-float("inf")).to(tl.float32)
    biggest = 0.0
    biggest = tl.maximum(biggest, tl.max(row, axis=0))
    num = tl.exp(row - biggest)
    den = tl.sum(num, axis=0)
    tl.store(p_ptr + i * p_row + j * p_col, num / den, mask=keep)


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
        title="maximum from zero",
    )
)

wrong(
    "softmax_forward",
    "every lane keeps its own maximum and sum, and `z = tl.sum(l, axis=0)` adds the sums without "
    "the factor exp(m - top) that brings them to one unit",
    "one edit",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    m = tl.full((BLOCK,), -float("inf"), tl.float32)  # a maximum for each lane
    l = tl.zeros((BLOCK,), tl.float32)  # and a sum for each lane
    for start in range(0, N, BLOCK):
        j = start + lane
        s = tl.load(s_ptr + i * s_row + j * s_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, s)
        safe = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l * tl.exp(m - safe) + tl.exp(s - safe)
        m = m_new
    top = tl.max(m, axis=0)
    z = tl.sum(l, axis=0)
    for start in range(0, N, BLOCK):
        j = start + lane
        s = tl.load(s_ptr + i * s_row + j * s_col, mask=j < N, other=-float("inf")).to(tl.float32)
        tl.store(p_ptr + i * p_row + j * p_col, tl.exp(s - top) / z, mask=j < N)


def softmax_forward(s: Tensor) -> Tensor:
    """p = softmax(s) row by row, in blocks of 128."""
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(M,)](s, p, N, *s.stride(), *p.stride(), BLOCK=128)
    return p
''',
        title="lanes in own units",
    )
)

wrong(
    "softmax_backward",
    "`grad = g - w * inner` lacks the factor p on dp: it should be w * (g - inner)",
    "one edit",
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
    cols_ok = j < N
    w = tl.load(p_ptr + i * p_row + j * p_col, mask=cols_ok, other=0.0).to(tl.float32)
    g = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=cols_ok, other=0.0).to(tl.float32)
    inner = tl.sum(w * g, axis=0)
    grad = g - w * inner
    tl.store(ds_ptr + i * ds_row + j * ds_col, grad, mask=cols_ok)


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
        title="dp without p",
    )
)

right("log_softmax_vjp", "by its jacobian")(
    written(
        '''
def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    """ds for l = log softmax(s), from p = softmax(s) and dlog = ∂L/∂l: two columns [N, 1] → a column [N, 1]."""
    n = p.rows
    J = sp.eye(n) - sp.ones(n, 1) * p.T
    return (dlog.T * J).T
'''
    )
)
