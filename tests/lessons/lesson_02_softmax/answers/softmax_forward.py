"""Lesson 02: right answers to `softmax_forward`, and wrong ones that scan a row three times."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.corpus import edited, right, written, wrong

THREE_PASSES = """
@triton.jit
def softmax_3pass(inp, out, n_cols, in_row, in_col, out_row, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    biggest = -float("inf")
    for c in range(0, n_cols, BLOCK):
        cols = c + tl.arange(0, BLOCK)
        x = tl.load(inp + row * in_row + cols * in_col, mask=cols < n_cols, other=-float("inf"))
        biggest = tl.maximum(biggest, tl.max(x, axis=0).to(tl.float32))
    denom = 0.0
    for c in range(0, n_cols, BLOCK):
        cols = c + tl.arange(0, BLOCK)
        x = tl.load(inp + row * in_row + cols * in_col, mask=cols < n_cols, other=-float("inf"))
        denom += tl.sum(tl.exp(x.to(tl.float32) - biggest), axis=0)
    for last in range(0, n_cols, BLOCK):
        cols = last + tl.arange(0, BLOCK)
        x = tl.load(inp + row * in_row + cols * in_col, mask=cols < n_cols, other=0.0)
        y = tl.exp(x.to(tl.float32) - biggest) / denom
        tl.store(out + row * out_row + cols, y, mask=cols < n_cols)


def softmax_forward(s):
    out = torch.empty(s.shape, dtype=s.dtype)
    softmax_3pass[(s.shape[0],)](s, out, s.shape[1], s.stride(0), s.stride(1), out.stride(0), BLOCK=16)
    return out
"""

ROWS = """
@triton.jit
def softmax_rows(x_ptr, y_ptr, M, N, sxm, sxn, sym, syn, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    keep = (m[:, None] < M) & (n[None, :] < N)
    x = tl.load(x_ptr + m[:, None] * sxm + n[None, :] * sxn, mask=keep, other=float("-inf")).to(tl.float32)
    x = tl.where(m[:, None] < M, x, 0.0)  # rows that do not exist stay finite
    x = x * 1.4426950408889634
    top = tl.max(x, axis=1)[:, None]
    num = tl.exp2(x - top)
    den = tl.sum(num, axis=1)[:, None]
    tl.store(y_ptr + m[:, None] * sym + n[None, :] * syn, num / den, mask=keep)


def softmax_forward(s):
    M, N = s.shape
    y = torch.empty((M, N), dtype=s.dtype)
    grid = (triton.cdiv(M, 2),)
    softmax_rows[grid](s, y, M, N, *s.stride(), *y.stride(), BM=2, BN=triton.next_power_of_2(N))
    return y
"""

ONLINE = """
@triton.jit
def online_stats(ptr, n, step, BLOCK: tl.constexpr):
    m = tl.full([], float("-inf"), tl.float32)
    d = tl.full([], 0.0, tl.float32)
    for k in range(0, n, BLOCK):
        idx = k + tl.arange(0, BLOCK)
        v = tl.load(ptr + idx * step, mask=idx < n, other=float("-inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(v, 0))
        safe = tl.where(new == float("-inf"), 0.0, new)
        d = d * tl.exp(m - safe) + tl.sum(tl.exp(v - safe), 0)
        m = new
    return m + tl.log(d)


@triton.jit
def online_softmax(s_ptr, p_ptr, n, sm, sn, pm, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    lse = online_stats(s_ptr + i * sm, n, sn, BLOCK)
    for k in range(0, n, BLOCK):
        idx = k + tl.arange(0, BLOCK)
        v = tl.load(s_ptr + i * sm + idx * sn, mask=idx < n).to(tl.float32)
        tl.store(p_ptr + i * pm + idx, tl.exp(v - lse), mask=idx < n)


def softmax_forward(s):
    p = torch.zeros(s.shape, dtype=s.dtype)
    online_softmax[(len(s),)](s, p, s.shape[1], *s.stride(), p.stride(0), BLOCK=8)
    return p
"""


@triton.jit
def _transposed(x_ptr, y_ptr, M, N, sm, sn, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.arange(0, BM)[None, :]
    n = tl.arange(0, BN)[:, None]
    for first in range(0, M, BM):
        keep = (first + m < M) & (n < N)
        x = tl.load(x_ptr + (first + m) * sm + n * sn, keep, other=0.0).to(tl.float32)
        x = tl.where(n < N, x, -1e30)
        e = tl.exp(x - tl.max(x, axis=0, keep_dims=True))
        tl.store(y_ptr + (first + m) * N + n, e / tl.sum(e, axis=0, keep_dims=True), mask=keep)


@right("softmax_forward", "one program for all rows, tiles transposed, −1e30 for padding")
def one_program_transposed_tiles(s):
    y = torch.empty(s.shape, dtype=s.dtype)
    _transposed[(1,)](s, y, *s.shape, *s.stride(), BM=4, BN=triton.next_power_of_2(s.shape[1]))
    return y


@triton.jit
def _descriptor_rows(x, y, N, BM: tl.constexpr, BN: tl.constexpr):
    first = tl.program_id(0) * BM
    s = x.load([first, 0]).to(tl.float32)
    s = tl.where(tl.arange(0, BN)[None, :] < N, s, -float("inf"))
    e = tl.exp(s - tl.max(s, 1)[:, None])
    y.store([first, 0], (e / tl.sum(e, 1)[:, None]).to(y.dtype))


@right("softmax_forward", "descriptors of padded copies, four rows per program")
def through_descriptors(s):
    M, N = s.shape
    BN = max(16, triton.next_power_of_2(N))
    padded, out = (torch.zeros(M, -(-N // 16) * 16, dtype=s.dtype) for _ in range(2))
    padded[:, :N] = s
    x, y = (TensorDescriptor.from_tensor(t, [4, BN]) for t in (padded, out))
    _descriptor_rows[(triton.cdiv(M, 4),)](x, y, N, BM=4, BN=BN)
    return out[:, :N].contiguous()


right("softmax_forward", "three passes over memory in blocks of 16")(written(THREE_PASSES))
right("softmax_forward", "two rows per program, powers of two")(written(ROWS))
right("softmax_forward", "an online scan in a helper, then exp(s − lse)")(written(ONLINE))

wrong(
    "softmax_forward",
    "The maximum is not subtracted: exp overflows for scores beyond 88.",
    "maximum not subtracted",
    "overflow",
    title="three passes, no maximum",
)(
    edited(
        THREE_PASSES,
        (
            "denom += tl.sum(tl.exp(x.to(tl.float32) - biggest), axis=0)",
            "denom += tl.sum(tl.exp(x.to(tl.float32)), axis=0)",
        ),
        ("y = tl.exp(x.to(tl.float32) - biggest) / denom", "y = tl.exp(x.to(tl.float32)) / denom"),
    )
)

wrong(
    "softmax_forward",
    "The sum is of exponentials without the maximum, the numerators are with it.",
    "maximum not subtracted",
    "rows do not sum to 1",
    "the sum lacks the maximum",
    title="three passes, the sum without the maximum",
)(
    edited(
        THREE_PASSES,
        (
            "denom += tl.sum(tl.exp(x.to(tl.float32) - biggest), axis=0)",
            "denom += tl.sum(tl.exp(x.to(tl.float32)), axis=0)",
        ),
    )
)

wrong(
    "softmax_forward",
    "The padding of the sum's load is 0: each padded lane adds exp(0 − m).",
    "padding enters the sum",
    "rows do not sum to 1",
    title="three passes, other=0 in the sum",
)(
    edited(
        THREE_PASSES,
        (
            'other=-float("inf"))\n        denom',
            "other=0.0)\n        denom",
        ),
    )
)

wrong(
    "softmax_forward",
    "The padding of the maximum's load is 0: for a row far below zero m is 0, and all exponentials vanish.",
    "padding enters the sum",
    "zero over zero",
    "padding enters the maximum",
    title="three passes, other=0 in the maximum",
)(edited(THREE_PASSES, ('other=-float("inf"))\n        biggest', "other=0.0)\n        biggest")))

wrong(
    "softmax_forward",
    "Each block overwrites the sum; only the last block's remains.",
    "rows do not sum to 1",
    "only the last tile",
    "the sum of the last block",
    title="three passes, denom = instead of +=",
)(edited(THREE_PASSES, ("denom += ", "denom = ")))

wrong(
    "softmax_forward",
    "Each block replaces the maximum by its own: exp can overflow, though the formula is right.",
    "overflow",
    "maximum not subtracted",
    "the maximum of the last block",
    title="three passes, the last block's maximum",
)(
    edited(
        THREE_PASSES,
        ("tl.maximum(biggest, tl.max(x, axis=0).to(tl.float32))", "tl.max(x, axis=0).to(tl.float32)"),
    )
)

wrong(
    "softmax_forward",
    "Nothing was divided by the sum.",
    "not divided by the sum",
    title="three passes, numerators only",
)(edited(THREE_PASSES, (" - biggest) / denom", " - biggest)")))

wrong(
    "softmax_forward",
    "The last, incomplete block of each row is never stored.",
    "never written",
    "last tile missing",
    title="three passes, the last one too short",
)(
    edited(
        THREE_PASSES,
        ("for last in range(0, n_cols, BLOCK)", "for last in range(0, n_cols - BLOCK + 1, BLOCK)"),
    )
)

wrong(
    "softmax_forward",
    "The block is 1024 long whatever the row is: what lies beyond is neither read nor written.",
    "never written",
    "only the first tile",
    "last tile missing",
)(edited(ROWS, ("BN=triton.next_power_of_2(N)", "BN=1024"), title="a block of 1024"))
wrong("softmax_forward", "One program of 64 rows: those that follow are never written.", "never written")(
    edited(
        ROWS,
        ("grid = (triton.cdiv(M, 2),)", "grid = (1,)"),
        ("BM=2, BN=triton.next_power_of_2(N)", "BM=64, BN=triton.next_power_of_2(N)"),
        title="one program of 64 rows",
    )
)
