"""Lesson 02: answers to `softmax_backward`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.corpus import edited, right, written, wrong

WHOLE = """
@triton.jit
def bwd_row(p_ptr, g_ptr, out_ptr, n, p0, p1, g0, g1, o0, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    live = c < n
    p = tl.load(p_ptr + r * p0 + c * p1, mask=live, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + r * g0 + c * g1, mask=live, other=0.0).to(tl.float32)
    pg = p * g
    # p ∘ dp − p ⟨p, dp⟩
    out = pg - p * tl.sum(pg, axis=0)
    tl.store(out_ptr + r * o0 + c, out, mask=live)


def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype)
    bwd_row[(M,)](p, dp, ds, N, *p.stride(), *dp.stride(), N, BLOCK=max(16, triton.next_power_of_2(N)))
    return ds
"""

SCAN = """
@triton.jit
def inner_product(p_row, dp_row, n, p_step, dp_step, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        pj = tl.load(p_row + j * p_step, mask=j < n, other=0.0)
        dpj = tl.load(dp_row + j * dp_step, mask=j < n, other=0.0)
        acc += pj.to(tl.float32) * dpj.to(tl.float32)
    return tl.sum(acc, axis=0)


@triton.jit
def backward_scan(P, DP, DS, rows, n, p0, p1, d0, d1, s0, s1, BLOCK: tl.constexpr):
    for i in range(tl.program_id(0), rows, tl.num_programs(0)):
        mean = inner_product(P + i * p0, DP + i * d0, n, p1, d1, BLOCK)
        for start in range(0, n, BLOCK):
            j = start + tl.arange(0, BLOCK)
            pj = tl.load(P + i * p0 + j * p1, mask=j < n, other=0.0).to(tl.float32)
            dpj = tl.load(DP + i * d0 + j * d1, mask=j < n, other=0.0).to(tl.float32)
            tl.store(DS + i * s0 + j * s1, pj * (dpj - mean), mask=j < n)


def softmax_backward(p, dp):
    ds = torch.zeros(p.shape, dtype=p.dtype)
    backward_scan[(2,)](p, dp, ds, *p.shape, *p.stride(), *dp.stride(), *ds.stride(), BLOCK=16)
    return ds
"""


@triton.jit
def _dot_rows(p_ptr, dp_ptr, ds_ptr, M, N, p0, p1, d0, d1, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    j = tl.arange(0, BN)[None, :]
    inside = (i < M) & (j < N)
    p = tl.where(inside, tl.load(p_ptr + i * p0 + j * p1, mask=inside, other=0.0), 0.0).to(tl.float32)
    dp = tl.load(dp_ptr + i * d0 + j * d1, mask=inside, other=0.0).to(tl.float32)
    delta = tl.reduce(p * dp, 1, _add, keep_dims=True)
    tl.store(ds_ptr + i * N + j, p * (dp - delta), mask=inside)


@triton.jit
def _add(a, b):
    return a + b


@right("softmax_backward", "eight rows per program, tl.reduce with a function of one's own")
def tiles_by_reduce(p, dp):
    M, N = p.shape
    ds = torch.empty(M, N, dtype=p.dtype)
    _dot_rows[(triton.cdiv(M, 8),)](
        p, dp, ds, M, N, *p.stride(), *dp.stride(), BM=8, BN=triton.next_power_of_2(N)
    )
    return ds


right("softmax_backward", "p ∘ dp reused, p taken out of the bracket")(written(WHOLE))
right("softmax_backward", "two programs for all rows, two scans over each")(written(SCAN))

wrong(
    "softmax_backward",
    "The inner product is left out: what is stored is p ∘ dp.",
    "⟨p, dp⟩ forgotten",
    title="pg alone",
)(edited(WHOLE, ("out = pg - p * tl.sum(pg, axis=0)", "out = pg")))

wrong(
    "softmax_backward",
    "The sum is of dp, not of p ∘ dp.",
    "sum of dp, not weighted by p",
    title="sum of g",
)(edited(WHOLE, ("tl.sum(pg, axis=0)", "tl.sum(g, axis=0)")))

wrong(
    "softmax_backward",
    "The inner product is divided by N; its weights already sum to 1.",
    "inner product divided by N",
    title="inner product over n",
)(edited(WHOLE, ("tl.sum(pg, axis=0)", "(tl.sum(pg, axis=0) / n)")))

wrong(
    "softmax_backward",
    "Both signs are wrong.",
    "the sign of ds",
    "sign",
    title="mean minus dp",
)(edited(SCAN, ("pj * (dpj - mean)", "pj * (mean - dpj)")))

wrong(
    "softmax_backward",
    "p is missing in front of the bracket.",
    "p in front forgotten",
    title="scan, p in front missing",
)(edited(SCAN, ("pj * (dpj - mean)", "dpj - mean")))

wrong(
    "softmax_backward",
    "The scan of the inner product stops before the last, incomplete block.",
    "last tile missing",
    "inner product without the last block",
    title="scan, the inner product's loop too short",
)(edited(SCAN, ("tl.range(0, n, BLOCK)", "tl.range(0, n - n % BLOCK, BLOCK)")))

wrong(
    "softmax_backward",
    "The inner product of the last block only: acc is overwritten.",
    "only the last tile",
    "inner product of the last block",
    title="scan, acc = instead of acc +=",
)(edited(SCAN, ("acc += pj", "acc = pj")))

wrong(
    "softmax_backward",
    "dp has strides of its own; those of p were used.",
    "strides of p used for dp",
    "out_of_bounds",
    title="strides of p for dp",
)(edited(WHOLE, ("*p.stride(), *dp.stride()", "*p.stride(), *p.stride()")))

wrong(
    "softmax_backward",
    "The sum is carried in half precision.",
    "sum in half precision",
    "precision",
    "one edit",
    title="no conversion to fp32",
)(
    edited(
        WHOLE,
        (
            "p = tl.load(p_ptr + r * p0 + c * p1, mask=live, other=0.0).to(tl.float32)",
            "p = tl.load(p_ptr + r * p0 + c * p1, mask=live, other=0.0)",
        ),
        (
            "g = tl.load(g_ptr + r * g0 + c * g1, mask=live, other=0.0).to(tl.float32)",
            "g = tl.load(g_ptr + r * g0 + c * g1, mask=live, other=0.0)",
        ),
    )
)

wrong(
    "softmax_backward",
    "Padding of −inf, taken over from the forward kernel, makes the inner product infinite.",
    "padding of −inf",
    title="padding of −inf in p and dp",
)(
    edited(
        WHOLE,
        ("c * p1, mask=live, other=0.0", 'c * p1, mask=live, other=-float("inf")'),
        ("c * g1, mask=live, other=0.0", 'c * g1, mask=live, other=-float("inf")'),
    )
)

wrong(
    "softmax_backward",
    "dp's padding is undefined and enters the sum.",
    "masked load without other",
    title="g without other=",
)(edited(WHOLE, ("c * g1, mask=live, other=0.0", "c * g1, mask=live")))

wrong(
    "softmax_backward",
    "p in front is forgotten, and the sum is not weighted by p: two mistakes.",
    "p in front forgotten + sum of dp, not weighted by p",
    title="scan, no p anywhere",
)(
    edited(
        SCAN,
        ("acc += pj.to(tl.float32) * dpj.to(tl.float32)", "acc += dpj.to(tl.float32)"),
        ("pj * (dpj - mean)", "dpj - mean"),
    )
)

wrong(
    "softmax_backward",
    "Odd rows have no program: the loop begins at 2 · program.",
    "never written",
    title="scan, every other row (onto torch.empty)",
)(
    edited(
        SCAN,
        ("torch.zeros(p.shape", "torch.empty(p.shape"),
        (
            "range(tl.program_id(0), rows, tl.num_programs(0))",
            "range(2 * tl.program_id(0), rows, 2 * tl.num_programs(0))",
        ),
    )
)

wrong(
    "softmax_backward",
    "The last column is left out of the store, and the sum: the mask is j < n − 1.",
    "never written",
    "last tile missing",
    title="live = c < n - 1",
)(edited(WHOLE, ("live = c < n", "live = c < n - 1")))
