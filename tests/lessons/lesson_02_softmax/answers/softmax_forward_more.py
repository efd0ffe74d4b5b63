"""Lesson 02: wrong answers to `softmax_forward` that hold whole rows, or scan them online."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.corpus import edited, wrong
from tests.lessons.lesson_02_softmax.answers.softmax_forward import ONLINE, ROWS

wrong(
    "softmax_forward",
    "exp2 without the factor log2 e.",
    "powers of two",
    title="rows, exp2 of natural scores",
)(edited(ROWS, ("    x = x * 1.4426950408889634\n", "")))

wrong(
    "softmax_forward",
    "The maximum and the sum run over the wrong axis of the tile.",
    "normalised over columns",
    "padding enters the maximum + normalised over columns",
    title="rows, axis 0",
)(
    edited(
        ROWS,
        ("top = tl.max(x, axis=1)[:, None]", "top = tl.max(x, axis=0)[None, :]"),
        ("den = tl.sum(num, axis=1)[:, None]", "den = tl.sum(tl.where(keep, num, 0.0), axis=0)[None, :]"),
        ("triton.cdiv(M, 2)", "triton.cdiv(M, 8)"),
        ("BM=2", "BM=8"),
    )
)

wrong(
    "softmax_forward",
    "One maximum and one sum for both rows of the tile.",
    "rows do not sum to 1",
    title="rows, reduced over the whole tile",
)(
    edited(
        ROWS,
        ("tl.max(x, axis=1)[:, None]", "tl.max(x)"),
        ("tl.sum(num, axis=1)[:, None]", "tl.sum(tl.where(keep, num, 0.0))"),
    )
)

wrong(
    "softmax_forward",
    "The load needs other=: what padded lanes hold enters the maximum and the sum.",
    "masked load without other",
    title="rows, no other=",
)(edited(ROWS, (', other=float("-inf")).to', ").to")))

wrong(
    "softmax_forward",
    "The store is addressed with the strides of s.",
    "strides of s used for p",
    "out_of_bounds",
    title="rows, strides of s for y",
)(edited(ROWS, ("*s.stride(), *y.stride()", "*s.stride(), *s.stride()")))

wrong(
    "softmax_forward",
    "log2 e is missing in exp2, and padding is 0: two mistakes.",
    "powers of two + padding enters the sum",
    title="rows, exp2 of natural scores and other=0",
)(edited(ROWS, ("    x = x * 1.4426950408889634\n", ""), ('other=float("-inf")', "other=0.0")))

wrong(
    "softmax_forward",
    "The exponentials are summed in half precision.",
    "sum in half precision",
    "precision",
    title="rows, everything in the dtype of s",
)(
    edited(
        ROWS,
        (").to(tl.float32)\n", ").to(tl.float32)\n    dt = x_ptr.dtype.element_ty\n"),
        ("num = tl.exp2(x - top)", "num = tl.exp2(x - top).to(dt)"),
        ("num / den", "(num / den).to(dt)"),
    )
)

wrong(
    "softmax_forward",
    "The old sum is not rescaled when the maximum moves.",
    "not rescaled",
    "rows do not sum to 1",
    "l not rescaled",
    title="online, sum not rescaled",
)(edited(ONLINE, ("d = d * tl.exp(m - safe) +", "d = d +")))

wrong(
    "softmax_forward",
    "While a row has shown nothing but −inf, −inf − (−inf) is NaN.",
    "inf minus inf",
    title="online, no guard for −inf",
)(edited(ONLINE, ('tl.where(new == float("-inf"), 0.0, new)', "new"), ("BLOCK=8", "BLOCK=1")))

wrong(
    "softmax_forward",
    "You stored the logarithm of the probabilities.",
    "logarithm of the softmax",
    title="online, v - lse",
)(edited(ONLINE, ("tl.exp(v - lse)", "v - lse")))

wrong(
    "softmax_forward",
    "The sum of the exponentials is not in logarithmic units: lse is m + d.",
    "rows do not sum to 1",
    "logarithm of l forgotten",
    title="online, m + d in place of m + log d",
)(edited(ONLINE, ("return m + tl.log(d)", "return m + d")))

wrong(
    "softmax_forward",
    "p is always fp32.",
    "shape",
    title="online, p in fp32",
)(edited(ONLINE, ("torch.zeros(s.shape, dtype=s.dtype)", "torch.zeros(s.shape)")))

wrong(
    "softmax_forward",
    "p is written in place, over the caller's s.",
    "changed input",
    "returned input",
    title="online, in place",
)(edited(ONLINE, ("p = torch.zeros(s.shape, dtype=s.dtype)", "s = s.contiguous()\n    p = s")))


@wrong("softmax_forward", "torch.softmax is the answer, and the kernel only copies it.", "not_yours")
def copied_from_torch(s):
    done = torch.softmax(s.float(), dim=1).to(s.dtype)
    out = torch.empty_like(done)
    _copy[(triton.cdiv(done.numel(), 64),)](done, out, done.numel(), BLOCK=64)
    return out


@triton.jit
def _copy(a, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + i, mask=i < n, other=0.0)
    tl.store(b + i, x + 0.0 + 0.0 + 0.0, mask=i < n)


@wrong("softmax_forward", "Nothing is computed: s itself comes back.", "returned input", "not_yours")
def s_itself(s):
    _copy[(1,)](s, torch.empty_like(s), 1, BLOCK=1)
    return s
