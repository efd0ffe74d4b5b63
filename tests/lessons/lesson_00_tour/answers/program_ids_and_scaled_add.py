"""Lesson 00: answers to `program_ids` and `scaled_add`."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from tests.corpus import edited, right, written, wrong

# program_ids ---------------------------------------------------------------------------------------

FEW = """
@triton.jit
def number_blocks(out, n_elements, n_blocks, BLOCK: tl.constexpr):
    # a handful of programs share the blocks among them
    step = tl.num_programs(0)
    for blk in range(tl.program_id(0), n_blocks, step):
        idx = blk * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + idx, blk, mask=idx < n_elements)


def program_ids(x, block):
    out = torch.empty(x.shape[0], dtype=torch.int32)
    n_blocks = (x.shape[0] + block - 1) // block
    number_blocks[(3,)](out, out.numel(), n_blocks, BLOCK=block)
    return out
"""

GRID_2D = """
@triton.jit
def ids_2d(out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    col = tl.program_id(0)
    which = row * 2 + col
    offs = which * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, which, mask=offs < n)


def program_ids(x, block):
    n = x.numel()
    out = torch.empty(n, dtype=torch.int32, device=x.device)
    ids_2d[(2, triton.cdiv(n, 2 * block))](out, n, BLOCK=block)
    return out
"""


@triton.jit
def _divided_ids(out_ptr, n, block, LANES: tl.constexpr):
    at = 0
    while at < n:
        lane = at + tl.arange(0, LANES)
        tl.store(out_ptr + lane, lane // block, mask=lane < n)
        at += LANES


@right("program_ids", "one program writes everything, 32 lanes at a time, and divides")
def one_program_divides(x, block):
    ids = torch.zeros(len(x), dtype=torch.int32)
    _divided_ids[(1,)](ids, len(x), block, LANES=32)
    return ids


right("program_ids", "three programs share the blocks in a loop")(written(FEW))
right("program_ids", "a two-dimensional grid")(written(GRID_2D))

wrong(
    "program_ids",
    "The last block is skipped: n_blocks - 1 leaves it out, and its elements are never written.",
    "tail without a program",
    "never written",
    "last tile missing",
    title="few programs, the loop ends a block early",
)(edited(FEW, ("range(tl.program_id(0), n_blocks, step)", "range(tl.program_id(0), n_blocks - 1, step)")))

wrong(
    "program_ids",
    "You store where the block begins, block times its number.",
    "constant factor",
    title="stores the block's first element",
)(edited(FEW, ("tl.store(out + idx, blk,", "tl.store(out + idx, blk * BLOCK,")))

wrong(
    "program_ids",
    "The numbers are lanes within a block, not blocks.",
    "lane numbers",
    title="stores idx - blk * BLOCK",
)(edited(FEW, ("tl.store(out + idx, blk,", "tl.store(out + idx, idx - blk * BLOCK,")))

wrong(
    "program_ids",
    "Programs (0, 1) and (1, 0) get the same number and write the same block; the last blocks are nobody's.",
    "race",
    "never written",
    title="2-D grid, number = row + col",
)(edited(GRID_2D, ("which = row * 2 + col", "which = row + col")))

wrong(
    "program_ids",
    "The mask lets one lane too many through: offs == n lies beyond ids.",
    "out_of_bounds",
    title="2-D grid, mask <= n",
)(edited(GRID_2D, ("mask=offs < n", "mask=offs <= n")))

wrong(
    "program_ids",
    "ids has x's dtype; int32 was asked for.",
    "shape",
    title="2-D grid, empty_like(x)",
)(edited(GRID_2D, ("torch.empty(n, dtype=torch.int32, device=x.device)", "torch.empty_like(x)")))


@triton.jit
def _strided_ids(out_ptr, stride, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    o = p * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + o * stride, p, mask=o < n)


@wrong(
    "program_ids",
    "ids is a new tensor with stride 1; x's stride carries the store beyond its end.",
    "out_of_bounds",
)
def uses_the_stride_of_x_for_ids(x, block):
    out = torch.empty(x.numel(), dtype=torch.int32)
    _strided_ids[(triton.cdiv(x.numel(), block),)](out, x.stride(0), x.numel(), BLOCK=block)
    return out


# scaled_add ----------------------------------------------------------------------------------------

SQUARE = """
@triton.jit
def axpy(x_ptr, y_ptr, out_ptr, alpha, length, dx, dy, ROWS: tl.constexpr, COLS: tl.constexpr):
    first = tl.program_id(axis=0) * (ROWS * COLS)
    where = first + tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    valid = where < length
    xs = tl.load(x_ptr + where * dx, mask=valid, other=0.0).to(tl.float32)
    ys = tl.load(y_ptr + where * dy, mask=valid, other=0.0).to(tl.float32)
    tl.store(out_ptr + where, tl.fma(xs, alpha, ys), mask=valid)


def scaled_add(a, x, y):
    out = torch.empty(x.shape, dtype=x.dtype)
    length = out.numel()
    axpy[(triton.cdiv(length, 256),)](x, y, out, a, length, x.stride(0), y.stride(0), ROWS=8, COLS=32)
    return out
"""

TUNED = """
@triton.autotune(configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 512})], key=["n"])
@triton.jit
def saxpy_kernel(z, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    result = tl.load(x + i, m).to(tl.float32) * a + tl.load(y + i, m).to(tl.float32)
    tl.store(z + i, result, m)


def scaled_add(a, x, y):
    x, y = x.contiguous(), y.contiguous()
    z = torch.empty_like(x)
    n = x.numel()
    saxpy_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](z, x, y, a, n)
    return z
"""


@triton.jit
def _in_place(z_ptr, x_ptr, a, n, dx, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        z = tl.load(z_ptr + i, mask=i < n, other=0.0).to(tl.float32)
        z += a * tl.load(x_ptr + i * dx, mask=i < n, other=0.0).to(tl.float32)
        tl.store(z_ptr + i, z, mask=i < n)


@right("scaled_add", "onto a clone of y, by two programs in turn")
def onto_a_clone_of_y(a, x, y):
    z = y.clone(memory_format=torch.contiguous_format)
    _in_place[(2,)](z, x, a, z.numel(), x.stride(0), BLOCK=64)
    return z


right("scaled_add", "two-dimensional tiles, a fused multiply-add")(written(SQUARE))
right("scaled_add", "autotuned, on contiguous copies")(written(TUNED))

wrong(
    "scaled_add",
    "The strides of x and y have changed places in the launch.",
    "out_of_bounds",
    title="strides of x and y exchanged",
)(edited(SQUARE, ("length, x.stride(0), y.stride(0)", "length, y.stride(0), x.stride(0)")))

wrong(
    "scaled_add",
    "x and y have changed places in the launch, so a scales y.",
    "a scales y",
    title="x and y exchanged in the launch",
)(edited(TUNED, ("(z, x, y, a, n)", "(z, y, x, a, n)")))

wrong(
    "scaled_add",
    "The bracket makes a scale both.",
    "a scales the sum",
    title="a outside the bracket",
)(
    edited(
        TUNED,
        (
            "tl.load(x + i, m).to(tl.float32) * a + tl.load(y + i, m).to(tl.float32)",
            "a * (tl.load(x + i, m) + tl.load(y + i, m)).to(tl.float32)",
        ),
    )
)

wrong(
    "scaled_add",
    "The grid is rounded down: the elements after the last whole block are never written.",
    "tail without a program",
    "never written",
    "last tile missing",
    title="length // 256 programs",
)(edited(SQUARE, ("triton.cdiv(length, 256)", "max(length // 256, 1)")))

wrong(
    "scaled_add",
    "y is loaded without a mask and reaches beyond its end.",
    "no mask",
    "out_of_bounds",
    title="y without a mask",
)(edited(SQUARE, ("y_ptr + where * dy, mask=valid, other=0.0", "y_ptr + where * dy")))

wrong(
    "scaled_add",
    "The factor a is missing, and so is a program for the tail.",
    "a is missing + tail without a program",
    "a is missing + never written",
    "a is missing + last tile missing",
    title="no a, and length // 256 programs",
)(edited(SQUARE, ("tl.fma(xs, alpha, ys)", "xs + ys"), ("triton.cdiv(length, 256)", "max(length // 256, 1)")))

wrong(
    "scaled_add",
    "The last element is left out: the mask should be where < length.",
    "never written",
    title="mask where < length - 1",
)(edited(SQUARE, ("valid = where < length", "valid = where < length - 1")))

wrong(
    "scaled_add",
    "z is computed in place, in y: the caller's y is overwritten.",
    "changed input",
    "returned input",
    title="written into y",
)(edited(TUNED, ("torch.empty_like(x)", "y")))

wrong(
    "scaled_add",
    "z is always fp32.",
    "shape",
    title="z always fp32",
)(edited(TUNED, ("torch.empty_like(x)", "torch.empty(x.shape)")))


@triton.jit
def _plus(z_ptr, x_ptr, y_ptr, n, dx, dy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    x = tl.load(x_ptr + i * dx, mask=keep)
    tl.store(z_ptr + i, x + tl.load(y_ptr + i * dy, mask=keep), mask=keep)


@wrong("scaled_add", "torch scales x in the launcher; the kernel only adds.", "not_yours")
def x_is_scaled_by_torch(a, x, y):
    z = torch.empty(len(x), dtype=x.dtype)
    scaled = a * x.float()
    _plus[(triton.cdiv(len(x), 128),)](z, scaled, y, len(x), scaled.stride(0), y.stride(0), BLOCK=128)
    return z


@wrong("scaled_add", "torch computes all of z; the kernel adds nothing to it.", "not_yours")
def computed_by_torch_first(a, x, y):
    z = torch.empty(len(x), dtype=x.dtype)
    _in_place[(4,)](z.copy_(a * x + y), torch.zeros(len(x)), 0.0, len(x), 1, BLOCK=256)
    return z


# answers for which one sentence has to hold that was made for another ---------------------------------

LINE_BY_LINE = """
@triton.jit
def by_the_notebook(ids_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(ids_ptr + offsets, pid, mask=offsets < n)


def program_ids(x, block):
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32)
    by_the_notebook[(triton.cdiv(n, block),)](ids, n, BLOCK=block)
    return ids
"""

ADD_BY_THE_NOTEBOOK = """
@triton.jit
def add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=mask)
    y = tl.load(y_ptr + offsets * stride_y, mask=mask)
    z = a * x.to(tl.float32) + y.to(tl.float32)
    tl.store(z_ptr + offsets, z, mask=mask)


def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype)
    add_kernel[(triton.cdiv(n, 256),)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=256)
    return z
"""

wrong(
    "program_ids",
    "The blocks overlap: program p begins at p, not at p * BLOCK.",
    "same block for all",
    "race",
    title="pid + arange",
)(edited(LINE_BY_LINE, ("pid * BLOCK + tl.arange", "pid + tl.arange")))

wrong(
    "scaled_add",
    "The first of the two loads has no mask.",
    "no mask",
    "out_of_bounds",
    title="one load of two masked",
)(
    edited(
        ADD_BY_THE_NOTEBOOK,
        ("x = tl.load(x_ptr + offsets * stride_x, mask=mask)", "x = tl.load(x_ptr + offsets * stride_x)"),
    )
)

wrong(
    "scaled_add",
    "The grid has one program: only the first block is computed.",
    "same block for all",
    "never written",
    title="a grid of one program",
)(edited(ADD_BY_THE_NOTEBOOK, ("[(triton.cdiv(n, 256),)]", "[(1,)]")))
