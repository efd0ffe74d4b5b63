"""Answers to lesson 02, written without a look at what the grader knows: the twelfth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "log_softmax_vjp",
    "`p.dot(dlog)` weights the sum with p, as for softmax; for log softmax the plain sum of dlog is needed.",
    "weighted by p",
)(
    written(
        """
def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    return dlog - p.dot(dlog) * p
""",
        title="weighted sum",
    )
)

wrong(
    "softmax_backward",
    "dp is loaded with the strides of p (`at_p` used twice) although it may be laid out differently.",
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
    valid = j < N
    at_p = i * p_row + j * p_col
    p = tl.load(p_ptr + at_p, mask=valid, other=0.0).to(tl.float32)
    g = tl.load(dp_ptr + at_p, mask=valid, other=0.0).to(tl.float32)
    mean = tl.sum(p * g, axis=0)
    tl.store(ds_ptr + i * ds_row + j * ds_col, p * (g - mean), mask=valid)


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
        title="strides of p for dp, anew",
    )
)

wrong(
    "softmax_forward",
    "two: no maximum is subtracted, so large scores overflow, and padding holds 0 (`other=0.0`), "
    "so that each padded lane adds exp(0) = 1.",
    "maximum not subtracted + padding enters the sum",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    # reads N, writes N elements; s_row, s_col: strides of s, counted in elements
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · s_row may pass 2³¹
    j = tl.arange(0, BLOCK)  # [BLOCK] columns; those from N on are padding
    valid = j < N
    row = tl.load(s_ptr + i * s_row + j * s_col, mask=valid, other=0.0).to(tl.float32)
    num = tl.exp(row)
    tl.store(p_ptr + i * p_row + j * p_col, num / tl.sum(num, axis=0), mask=valid)


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
        title="no maximum zero padding",
    )
)

wrong(
    "softmax_jacobian",
    "the entries off the diagonal are `p[k] * p[j]` without the minus sign.",
    "sign",
)(
    written(
        """
def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    N = p.rows
    return sp.Matrix(N, N, lambda k, j: p[k] * (1 - p[k]) if k == j else p[k] * p[j])
""",
        title="sign off diagonal",
    )
)

wrong(
    "softmax_vjp",
    "`- inner * ones` subtracts the inner product without the factor p: p ∘ dp − ⟨p, dp⟩.",
    "p on dp alone",
)(
    written(
        """
def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    inner = (p.T * dp)[0, 0]
    return sp.matrix_multiply_elementwise(p, dp) - inner * sp.ones(p.rows, 1)
""",
        title="inner not weighted",
    )
)

right("softmax_forward", "base two reciprocal")(
    written(
        '''
from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    # reads N, writes N elements; s_row, s_col: strides of s, counted in elements
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · s_row may pass 2³¹
    j = tl.arange(0, BLOCK)  # [BLOCK] columns; those from N on are padding
    valid = j < N
    x = tl.load(s_ptr + i * s_row + j * s_col, mask=valid, other=float("-inf")).to(tl.float32)
    x = (x - tl.max(x, axis=0)) * 1.4426950408889634
    w = tl.exp2(x)
    scale = 1.0 / tl.sum(w, axis=0)
    tl.store(p_ptr + i * p_row + j * p_col, (w * scale).to(p_ptr.dtype.element_ty), mask=valid)


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
'''
    )
)

right("softmax_jacobian", "kronecker delta")(
    written(
        """
def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    return sp.Matrix(len(p), len(p), lambda k, j: p[k] * (sp.KroneckerDelta(k, j) - p[j]))
"""
    )
)
