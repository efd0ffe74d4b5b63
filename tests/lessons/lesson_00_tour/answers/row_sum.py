"""Lesson 00: answers to `row_sum`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.corpus import edited, right, written, wrong

LOOP = """
@triton.jit
def add_up_row(x_ptr, out_ptr, n_cols, row_stride, col_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * row_stride + cols * col_stride, mask=cols < n_cols, other=0)
        total += x
    tl.store(out_ptr + row, tl.sum(total))


def row_sum(x):
    out = torch.empty(x.size(0), dtype=x.dtype)
    add_up_row[(x.size(0),)](x, out, x.size(1), x.stride(0), x.stride(1), BLOCK=8)
    return out
"""

TILE = """
@triton.jit
def sum_of(values):
    return tl.sum(values.to(tl.float32), axis=1)


@triton.jit
def rows_kernel(x, s, R, C, sr, sc, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.arange(0, BC)
    ok = (r[:, None] < R) & (c[None, :] < C)
    tile = tl.load(x + r[:, None] * sr + c[None, :] * sc, mask=ok, other=0.0)
    tl.store(s + r, sum_of(tile), mask=r < R)


def row_sum(x):
    R, C = x.shape
    s = x.new_empty(R)
    BR = 4
    rows_kernel[(triton.cdiv(R, BR),)](x, s, R, C, *x.stride(), BR=BR, BC=triton.next_power_of_2(C))
    return s
"""

PARTS = """
@triton.jit
def piece_kernel(x_ptr, acc_ptr, n, s0, s1, BLOCK: tl.constexpr):
    i, piece = tl.program_id(0), tl.program_id(1)
    j = piece * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * s0 + j * s1, mask=j < n, other=0.).to(tl.float32)
    tl.atomic_add(acc_ptr + i, tl.sum(x, 0))


def row_sum(x):
    m, n = x.shape
    acc = torch.zeros(m, dtype=torch.float32)
    piece_kernel[(m, triton.cdiv(n, 32))](x, acc, n, x.stride(0), x.stride(1), BLOCK=32)
    return acc.to(x.dtype)
"""


@triton.jit
def _where_sum(x_ptr, out_ptr, n, sr, sc, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    safe = tl.minimum(c, n - 1)  # lanes beyond the row read its last element again
    v = tl.load(x_ptr + r * sr + safe * sc).to(tl.float32)
    tl.store(out_ptr + r, tl.sum(tl.where(c < n, v, 0.0)))


@right("row_sum", "no mask: addresses are clamped, and tl.where hides the repeats")
def clamped_and_hidden_by_where(x):
    out = torch.empty(x.shape[0], dtype=x.dtype)
    _where_sum[(x.shape[0],)](x, out, x.shape[1], *x.stride(), BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


@triton.jit
def _block_pointer_sum(x_ptr, out_ptr, m, n, sr, sc, B: tl.constexpr):
    r = tl.program_id(0)
    p = tl.make_block_ptr(x_ptr, (m, n), (sr, sc), (r, 0), (1, B), (1, 0))
    acc = tl.zeros([1, B], tl.float32)
    for _ in range(tl.cdiv(n, B)):
        acc += tl.load(p, boundary_check=(0, 1), padding_option="zero").to(tl.float32)
        p = tl.advance(p, (0, B))
    tl.store(out_ptr + r, tl.sum(tl.reshape(acc, [B]), axis=0))


@right("row_sum", "a block pointer that advances along the row")
def by_a_block_pointer(x):
    out = torch.empty(x.shape[0], dtype=x.dtype)
    _block_pointer_sum[(x.shape[0],)](x, out, *x.shape, *x.stride(), B=16)
    return out


right("row_sum", "eight columns at a time, lanes added up at the end")(written(LOOP))
right("row_sum", "four rows per program, the sum in a helper")(written(TILE))
right("row_sum", "a program per piece of a row, added atomically in fp32")(written(PARTS))

wrong(
    "row_sum",
    "The loop stops before the last, incomplete block of a row.",
    "last tile missing",
    title="loop over n_cols // BLOCK blocks",
)(edited(LOOP, ("range(0, n_cols, BLOCK)", "range(0, n_cols // BLOCK * BLOCK, BLOCK)")))

wrong(
    "row_sum",
    "Each block replaces the total: only the last block of the row is summed.",
    "only the last tile",
    title="total = x instead of total += x",
)(edited(LOOP, ("total += x", "total = x.to(tl.float32)")))

wrong(
    "row_sum",
    "The loop starts at the second block.",
    "first tile missing",
    title="loop starts at BLOCK",
)(edited(LOOP, ("range(0, n_cols, BLOCK)", "range(BLOCK, n_cols, BLOCK)")))

wrong(
    "row_sum",
    "The load of the last block has no mask: it reads on into the next row, and out of x at the end.",
    "no mask",
    "out_of_bounds",
    title="loop without a mask",
)(edited(LOOP, (", mask=cols < n_cols, other=0", "")))

wrong(
    "row_sum",
    "The running total is kept in x's dtype, so fp16 rounds each addition.",
    "summed in half precision",
    "precision",
    title="the accumulator has the dtype of x",
)(
    edited(
        LOOP,
        ("dtype=tl.float32", "dtype=x_ptr.dtype.element_ty"),
        ("tl.sum(total)", "tl.sum(total).to(out_ptr.dtype.element_ty)"),
    )
)

wrong(
    "row_sum",
    "You stored the mean: the sum is divided by the number of columns.",
    "constant factor",
    title="divided by n_cols",
)(edited(LOOP, ("tl.sum(total))", "tl.sum(total) / n_cols)")))

wrong(
    "row_sum",
    "The column stride is missing from the address: in a transposed view columns are not one apart.",
    "rows taken as packed",
    "out_of_bounds",
    title="cols without col_stride",
)(edited(LOOP, ("cols * col_stride", "cols")))

wrong(
    "row_sum",
    "The lanes beyond the row are undefined: the masked load has no other=.",
    "masked load without other",
    title="tile without other",
)(edited(TILE, (", mask=ok, other=0.0)", ", mask=ok)")))

wrong(
    "row_sum",
    "Rows beyond the last are loaded: the tile's mask looks at columns only.",
    "out_of_bounds",
    title="tile without the rows' mask",
)(edited(TILE, ("(r[:, None] < R) & (c[None, :] < C)", "(r[:, None] >= 0) & (c[None, :] < C)")))

wrong(
    "row_sum",
    "The last rows have no program: the grid is rounded down.",
    "never written",
    "last tile missing",
    title="tile, R // BR programs",
)(edited(TILE, ("triton.cdiv(R, BR)", "max(1, R // BR)")))

wrong(
    "row_sum",
    "s is fp32 where x is half precision; it should have x's dtype.",
    "shape",
    title="tile, s always fp32",
)(edited(TILE, ("x.new_empty(R)", "torch.empty(R)")))

wrong(
    "row_sum",
    "fp16 sums, and the columns of a view are taken as neighbours: two mistakes.",
    "summed in half precision + rows taken as packed",
    "precision + rows taken as packed",
    "out_of_bounds",
    title="tile, half sums and packed rows",
)(edited(TILE, ("values.to(tl.float32)", "values"), ("*x.stride()", "C, 1")))

wrong(
    "row_sum",
    "The atomic adds start from what torch.empty left in memory.",
    "uninitialised memory",
    title="atomics onto torch.empty",
)(edited(PARTS, ("torch.zeros(m, dtype=torch.float32)", "torch.empty(m, dtype=torch.float32)")))

wrong(
    "row_sum",
    "Programs of the same row load, add and store: what one adds in between is lost.",
    "race",
    title="load, add, store instead of an atomic add",
)(
    edited(
        PARTS,
        (
            "tl.atomic_add(acc_ptr + i, tl.sum(x, 0))",
            "tl.store(acc_ptr + i, tl.load(acc_ptr + i) + tl.sum(x, 0))",
        ),
    )
)

wrong(
    "row_sum",
    "view(-1) needs rows that follow one another in memory; a strided x has none.",
    "crashed",
    title="x.view(-1)",
)(
    edited(
        TILE,
        ("    R, C = x.shape\n", "    R, C = x.shape\n    x = x.view(-1)\n"),
        ("*x.stride()", "C, 1"),
    )
)

wrong(
    "row_sum",
    "The block is 1024 long whatever the row is: what lies beyond is left out of the sum.",
    "only the first tile",
    "last tile missing",
)(edited(clamped_and_hidden_by_where, ("BLOCK=triton.next_power_of_2(x.shape[1])", "BLOCK=1024")))
