"""Answers to lesson 02, written without a look at what the grader knows: the eleventh set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "softmax_jacobian",
    "in the lambda the case k != j is `p[k] * p[j]`: the minus sign is missing",
    "sign",
)(
    written(
        """
def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    def entry(k, j):
        if k == j:
            return p[k] * (1 - p[k])
        return p[k] * p[j]

    return sp.Matrix(p.rows, p.rows, entry)
""",
        title="off diagonal plus",
    )
)

wrong(
    "softmax_vjp",
    "the line `mean = sum(dp) / p.rows` is the unweighted mean of dp; the expectation under p, "
    "sum of p*dp, is wanted",
    "plain mean of dp",
)(
    written(
        """
def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    mean = sum(dp) / p.rows  # E[dp]
    return sp.Matrix([p[j] * (dp[j] - mean) for j in range(p.rows)])
""",
        title="plain mean",
    )
)

wrong(
    "log_softmax_vjp",
    "the line `e = p.dot(dlog)` takes the inner product with p, as for softmax; for log-softmax "
    "it is the plain sum of dlog",
    "weighted by p",
)(
    written(
        """
def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    e = p.dot(dlog)
    return dlog - p * e
""",
        title="softmax inner product",
    )
)

wrong(
    "softmax_forward",
    "two faults: `other=0.0` makes 0 the maximum of rows around -200 (0/0), and the last line "
    "stores p by the strides of s",
    "out_of_bounds",
)(
    written(
        """
from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    inside = j < N
    at = i * s_row + j * s_col
    s = tl.load(s_ptr + at, mask=inside, other=0.0).to(tl.float32)
    e = tl.where(inside, tl.exp(s - tl.max(s, axis=0)), 0.0)
    tl.store(p_ptr + at, e / tl.sum(e, axis=0), mask=inside)


def softmax_forward(s: Tensor) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
""",
        title="zero filler and input strides",
    )
)

wrong(
    "softmax_backward",
    "the lines `e = tl.exp(p - tl.max(p, axis=0))` and `p = e / tl.sum(e)` take the input for "
    "scores and apply softmax to probabilities again",
    "one edit",
)(
    written(
        """
from torch import Tensor


@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    ok = j < N
    p = tl.load(p_ptr + i * p_row + j * p_col, mask=ok, other=-float("inf")).to(tl.float32)
    e = tl.exp(p - tl.max(p, axis=0))
    p = e / tl.sum(e, axis=0)
    dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=ok, other=0.0).to(tl.float32)
    ds = p * (dp - tl.sum(p * dp, axis=0))
    tl.store(ds_ptr + i * ds_row + j * ds_col, ds, mask=ok)


def softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(), BLOCK=BLOCK, num_warps=4
    )
    return ds
""",
        title="softmax of p",
    )
)

right("softmax_vjp", "by pairs")(
    written(
        """
def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    n = p.rows
    return sp.Matrix(n, 1, lambda j, _: p[j] * dp[j] - sum(p[j] * p[k] * dp[k] for k in range(n)))
"""
    )
)
