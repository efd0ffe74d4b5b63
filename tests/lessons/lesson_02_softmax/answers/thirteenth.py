"""Answers to lesson 02, written without a look at what the grader knows: the thirteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "softmax_jacobian",
    "entry p[k] * (1 - p[j]) for all k and j: the case k = j is used off the diagonal too, where "
    "there is no 1",
    "p_j (1 − p_k) everywhere",
)(
    written(
        """
def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    n = p.rows
    return sp.Matrix(n, n, lambda k, j: p[k] * (1 - p[j]))
""",
        title="no delta",
    )
)

wrong(
    "softmax_forward",
    "other=-100.0: the filler is a finite score that becomes the maximum, and takes a share, in "
    "rows of scores near -200",
    "one edit",
)(
    written(
        """
from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    ok = c < N
    z = tl.load(s_ptr + r * s_row + c * s_col, mask=ok, other=-100.0).to(tl.float32)
    z = tl.exp(z - tl.max(z, 0))
    tl.store(p_ptr + r * p_row + c * p_col, z / tl.sum(z, 0), mask=ok)


def softmax_forward(s: Tensor) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(M,)](s, p, N, *s.stride(), *p.stride(), BLOCK=triton.next_power_of_2(N))
    return p
""",
        title="filler minus hundred",
    )
)

wrong(
    "softmax_forward",
    "line top = tl.max(tl.abs(s)): the largest magnitude is subtracted in place of the maximum, "
    "so rows near -200 underflow to 0 / 0",
    "padding enters the maximum",
)(
    written(
        """
from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    live = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=live, other=-float("inf")).to(tl.float32)
    top = tl.max(tl.where(s > -float("inf"), tl.abs(s), 0.0), axis=0)
    num = tl.exp(s - top)
    den = tl.sum(num, axis=0)
    tl.store(p_ptr + i * p_row + j * p_col, num / den, mask=live)


def softmax_forward(s: Tensor) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=4)
    return p
""",
        title="max of magnitudes",
    )
)

wrong(
    "softmax_backward",
    "dp is loaded with other=-inf as in the forward kernel: 0 * -inf is NaN in the inner product "
    "of every ragged row",
    "zero times inf",
)(
    written(
        """
from torch import Tensor


@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    valid = col < N
    p = tl.load(p_ptr + row * p_row + col * p_col, mask=valid, other=0.0).to(tl.float32)
    g = tl.load(dp_ptr + row * dp_row + col * dp_col, mask=valid, other=-float("inf")).to(tl.float32)
    pg = p * g
    ds = pg - p * tl.sum(pg, axis=0)
    tl.store(ds_ptr + row * ds_row + col * ds_col, ds, mask=valid)


def softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(), BLOCK=triton.next_power_of_2(N)
    )
    return ds
""",
        title="minus inf padding",
    )
)

right("log_softmax_vjp", "explicit jacobian")(
    written(
        """
def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    n = p.rows
    jacobian = sp.eye(n) - sp.ones(n, 1) * p.T
    return jacobian.T * dlog
"""
    )
)

right("softmax_forward", "share through logarithm")(
    written(
        """
from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    inside = col < N
    s = tl.load(s_ptr + row * s_row + col * s_col, mask=inside, other=0.0).to(tl.float32)
    s = tl.where(inside, s, -float("inf"))
    s -= tl.max(s, axis=0)
    s -= tl.log(tl.sum(tl.exp(s), axis=0))
    tl.store(p_ptr + row * p_row + col * p_col, tl.exp(s), mask=inside)


def softmax_forward(s: Tensor) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(M,)](s, p, N, *s.stride(), *p.stride(), BLOCK=triton.next_power_of_2(N))
    return p
"""
    )
)
