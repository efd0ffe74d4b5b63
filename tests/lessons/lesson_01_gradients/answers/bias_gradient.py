"""Lesson 01: answers to `bias_gradient`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.corpus import edited, right, written, wrong

ATOMIC = """
@triton.jit
def colsum_atomic(G, out, rows, cols, sr, sc, BR: tl.constexpr, BC: tl.constexpr):
    # every program adds the column sums of one tile
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    inside = (r < rows)[:, None] & (c < cols)[None, :]
    g = tl.load(G + r[:, None] * sr + c[None, :] * sc, mask=inside, other=0.0).to(tl.float32)
    part = tl.sum(g, axis=0)
    tl.atomic_add(out + c, part, mask=c < cols)


def bias_gradient(dy):
    rows, cols = dy.shape
    out = torch.zeros(cols, dtype=torch.float32)
    grid = (triton.cdiv(rows, 16), triton.cdiv(cols, 32))
    colsum_atomic[grid](dy, out, rows, cols, *dy.stride(), BR=16, BC=32)
    return out.to(dy.dtype)
"""

COLUMN = """
@triton.jit
def one_column(dy_ptr, db_ptr, M, stride_m, stride_n, BLOCK: tl.constexpr):
    n = tl.program_id(0)
    acc = 0.0
    for m0 in range(0, M, BLOCK):
        m = m0 + tl.arange(0, BLOCK)
        acc += tl.sum(tl.load(dy_ptr + m * stride_m + n * stride_n, mask=m < M, other=0.0).to(tl.float32))
    tl.store(db_ptr + n, acc)


def bias_gradient(dy):
    db = torch.empty(dy.shape[1], dtype=dy.dtype)
    one_column[(dy.shape[1],)](dy, db, dy.shape[0], dy.stride(0), dy.stride(1), BLOCK=16)
    return db
"""

TWO_STAGES = """
@triton.jit
def partials(dy_ptr, part_ptr, M, N, s0, s1, BM: tl.constexpr, BN: tl.constexpr):
    slab = tl.program_id(0)
    m = slab * BM + tl.arange(0, BM)[None, :]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[:, None]
    dyT = tl.load(dy_ptr + m * s0 + n * s1, mask=(m < M) & (n < N), other=0.0)  # [BN, BM]
    s = tl.sum(dyT.to(tl.float32), axis=1, keep_dims=True)
    tl.store(part_ptr + slab * N + n, s, mask=n < N)


@triton.jit
def add_partials(part_ptr, db_ptr, slabs, N, BN: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros([BN], tl.float32)
    for k in range(slabs):
        total += tl.load(part_ptr + k * N + n, mask=n < N, other=0.0)
    tl.store(db_ptr + n, total, mask=n < N)


def bias_gradient(dy):
    M, N = dy.shape
    slabs = triton.cdiv(M, 32)
    part = torch.empty(slabs, N)
    partials[(slabs, triton.cdiv(N, 16))](dy, part, M, N, *dy.stride(), BM=32, BN=16)
    db = dy.new_empty(N)
    add_partials[(triton.cdiv(N, 16),)](part, db, slabs, N, BN=16)
    return db
"""


@triton.jit
def _ones_dot(dy_ptr, db_ptr, M, N, s0, s1, BM: tl.constexpr, BN: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros([16, BN], tl.float32)
    ones = tl.full([16, BM], 1.0, tl.float32)
    for m0 in range(0, tl.cdiv(M, BM) * BM, BM):
        m = m0 + tl.arange(0, BM)
        tile = tl.load(
            dy_ptr + m[:, None] * s0 + n[None, :] * s1, mask=(m[:, None] < M) & (n[None, :] < N), other=0.0
        )
        acc = tl.dot(ones, tile.to(tl.float32), acc, input_precision="ieee")
    first = tl.sum(tl.where(tl.arange(0, 16)[:, None] == 0, acc, 0.0), axis=0)
    tl.store(db_ptr + n, first, mask=n < N)


@right("bias_gradient", "a product with a matrix of ones")
def column_sums_by_a_dot_with_ones(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype)
    _ones_dot[(triton.cdiv(N, 32),)](dy, db, M, N, *dy.stride(), BM=32, BN=32)
    return db


right("bias_gradient", "one tile per program, atomic adds in fp32")(written(ATOMIC))
right("bias_gradient", "one program per column")(written(COLUMN))
right("bias_gradient", "transposed tiles, two kernels, partial sums in between")(written(TWO_STAGES))

wrong(
    "bias_gradient",
    "The atomic adds start from what torch.empty left in memory.",
    "uninitialised memory",
    title="atomics onto torch.empty",
)(edited(ATOMIC, ("torch.zeros(cols", "torch.empty(cols")))

wrong(
    "bias_gradient",
    "The atomic adds go into a tensor of dy's dtype: in fp16 each of them is rounded.",
    "tiles summed in half precision",
    "precision",
    "one edit",
    title="atomics in dy's dtype",
)(edited(ATOMIC, ("torch.zeros(cols, dtype=torch.float32)", "torch.zeros(cols, dtype=dy.dtype)")))

wrong(
    "bias_gradient",
    "Programs above one another store into the same columns; only the last to come is left.",
    "race",
    "the last tile overwrites",
    title="a store instead of an atomic add",
)(edited(ATOMIC, ("tl.atomic_add(out + c, part,", "tl.store(out + c, part,")))

wrong(
    "bias_gradient",
    "The mask looks at columns only: rows below the matrix are read.",
    "rows below the matrix",
    "out_of_bounds",
    title="atomics, no mask for the rows",
)(edited(ATOMIC, ("(r < rows)[:, None] & (c < cols)[None, :]", "(c < cols)[None, :]")))

wrong(
    "bias_gradient",
    "The grid counts whole tiles of rows only; the short one at the end has no program.",
    "the last, short tile left out",
    "last tile missing",
    title="atomics, rows // 16 programs",
)(edited(ATOMIC, ("triton.cdiv(rows, 16)", "max(1, rows // 16)")))

wrong(
    "bias_gradient",
    "The accumulator is replaced in each step: only the last block of rows is left.",
    "the last tile overwrites",
    title="one column, acc = instead of acc +=",
)(edited(COLUMN, ("acc += tl.sum", "acc = tl.sum")))

wrong(
    "bias_gradient",
    "The strides of rows and columns have changed places.",
    "strides swapped",
    "out_of_bounds",
    title="one column, strides exchanged in the launch",
)(edited(COLUMN, ("dy.stride(0), dy.stride(1)", "dy.stride(1), dy.stride(0)")))

wrong(
    "bias_gradient",
    "You divided by the number of rows.",
    "mean instead of sum",
    title="one column, divided by M",
)(edited(COLUMN, ("tl.store(db_ptr + n, acc)", "tl.store(db_ptr + n, acc / M)")))

wrong(
    "bias_gradient",
    "The loop stops after the first block of rows.",
    "the first tile only",
    title="one column, no loop",
)(edited(COLUMN, ("for m0 in range(0, M, BLOCK)", "for m0 in range(0, 1, BLOCK)")))

wrong(
    "bias_gradient",
    "The second kernel leaves out the last slab.",
    "the last, short tile left out",
    "last tile missing",
    title="two stages, slabs - 1",
)(edited(TWO_STAGES, ("for k in range(slabs)", "for k in range(slabs - 1)")))

wrong(
    "bias_gradient",
    "The second kernel starts at slab 1.",
    "first tile missing",
    "the first tile left out",
    title="two stages, starts at slab 1",
)(edited(TWO_STAGES, ("for k in range(slabs)", "for k in range(1, slabs)")))

wrong(
    "bias_gradient",
    "Partial sums are rounded to fp16 in memory, and each tile is summed in half precision.",
    "tiles summed in half precision",
    "precision",
    title="two stages in dy's dtype",
)(edited(TWO_STAGES, ("dyT.to(tl.float32)", "dyT"), ("torch.empty(slabs, N)", "dy.new_empty(slabs, N)")))

wrong(
    "bias_gradient",
    "A mean was stored, and the last slab is missing from it: two mistakes.",
    "mean instead of sum + the last, short tile left out",
    "mean instead of sum + last tile missing",
    title="two stages, slabs - 1 and a mean",
)(
    edited(
        TWO_STAGES,
        ("for k in range(slabs)", "for k in range(slabs - 1)"),
        ("(part, db, slabs, N, BN=16)", "(part, db, slabs, N, M, BN=16)"),
        ("db_ptr, slabs, N, BN", "db_ptr, slabs, N, M, BN"),
        ("tl.store(db_ptr + n, total,", "tl.store(db_ptr + n, total / M,"),
    )
)

wrong(
    "bias_gradient",
    "The buffer is kept for the next call of the same width and never set to zero again: results add up.",
    "stale answer",
    "changes from run to run",
    title="atomics onto a buffer kept from call to call",
)(
    edited(
        ATOMIC,
        ("def bias_gradient(dy):", "buffers = {}\n\n\ndef bias_gradient(dy):"),
        (
            "out = torch.zeros(cols, dtype=torch.float32)",
            "out = buffers.setdefault(cols, torch.zeros(cols, dtype=torch.float32))",
        ),
    )
)

wrong(
    "bias_gradient",
    "The last program adds up partial sums that other programs of its launch may not have stored yet.",
    "race",
    title="two stages in one launch",
)(
    edited(
        TWO_STAGES,
        (
            "    tl.store(part_ptr + slab * N + n, s, mask=n < N)\n",
            "    tl.store(part_ptr + slab * N + n, s, mask=n < N)\n"
            "    if slab == tl.num_programs(0) - 1:\n"
            "        total = tl.zeros([BN, 1], tl.float32)\n"
            "        for k in range(slab + 1):\n"
            "            total += tl.load(part_ptr + k * N + n, mask=n < N, other=0.0)\n"
            "        tl.store(db_ptr + n, total, mask=n < N)\n",
        ),
        ("partials(dy_ptr, part_ptr,", "partials(dy_ptr, part_ptr, db_ptr,"),
        (
            "    part = torch.empty(slabs, N)\n",
            "    part = torch.empty(slabs, N)\n    db = dy.new_empty(N)\n",
        ),
        ("(dy, part, M, N,", "(dy, part, db, M, N,"),
        (
            "    db = dy.new_empty(N)\n    add_partials[(triton.cdiv(N, 16),)](part, db, slabs, N, BN=16)\n",
            "",
        ),
    )
)

wrong(
    "bias_gradient",
    "The loop ends after 256 rows: the rest of the batch is left out.",
    "the first tile only",
    "last tile missing",
)(edited(COLUMN, ("for m0 in range(0, M, BLOCK):", "for m0 in range(0, 256, BLOCK):")))
