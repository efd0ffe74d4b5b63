"""Answers to the kernels of lesson 00, written without a look at the mistakes that it declares."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong

# ---------------------------------------------------------- row_sum: several rows to a program

ROWS = """
@triton.jit
def rowsum_k(inp, out, R, C, sr, sc, RB: tl.constexpr, CB: tl.constexpr):
    r = tl.program_id(0) * RB + tl.arange(0, RB)
    total = tl.zeros((RB,), dtype=tl.float32)
    for c0 in range(0, C, CB):
        c = c0 + tl.arange(0, CB)
        live = (r[:, None] < R) & (c[None, :] < C)
        tile = tl.load(inp + r[:, None] * sr + c[None, :] * sc, mask=live, other=0).to(tl.float32)
        total += tl.sum(tile, 1)
    tl.store(out + r, total, mask=r < R)


def launcher(x):
    R, C = x.shape
    out = torch.empty(R, dtype=x.dtype, device=x.device)
    rowsum_k[(triton.cdiv(R, 4),)](x, out, R, C, x.stride(0), x.stride(1), RB=4, CB=16)
    return out
"""

wrong("row_sum", "The grid rounds down: a last, incomplete group of rows has no program.", "never written")(
    edited(ROWS, ("triton.cdiv(R, 4)", "R // 4"), title="groups of four rows, rounded down")
)

wrong(
    "row_sum",
    "Each block of columns overwrites the total: the sum is that of the last block alone.",
    "only the last tile",
)(edited(ROWS, ("total += tl.sum(tile, 1)", "total = tl.sum(tile, 1)"), title="total = the tile's sum"))

wrong(
    "row_sum",
    "Each tile is added up in half precision before it joins the fp32 total.",
    "summed in half precision",
    "precision",
    "one edit",
)(edited(ROWS, (", other=0).to(tl.float32)", ", other=0)"), title="fp32 total of half-precision sums"))

right("row_sum", "columns from the last to the first, 8 at a time, by Kahan's compensated summation")(
    written("""
@triton.jit
def kahan_k(x_ptr, s_ptr, rows, columns, x_r, x_c, LANES: tl.constexpr, ROWS: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[None, :]
    big = tl.zeros((LANES, ROWS), tl.float32)
    small = tl.zeros((LANES, ROWS), tl.float32)
    for done in range(0, columns, LANES):
        j = columns - 1 - done - tl.arange(0, LANES)[:, None]
        x = tl.load(x_ptr + i * x_r + j * x_c, mask=(j >= 0) & (i < rows), other=0.0).to(tl.float32)
        y = x - small
        t = big + y
        small = (t - big) - y
        big = t
    s = tl.sum(big - small, axis=0)
    k = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    tl.store(s_ptr + k, s, mask=k < rows)


def launcher(x):
    s = x.new_empty(x.size(0))
    kahan_k[(triton.cdiv(x.size(0), 2),)](x, s, x.size(0), x.size(1), *x.stride(), LANES=8, ROWS=2)
    return s
""")
)

# ---------------------------------------------------------- scaled_add: a grid-stride loop, as in CUDA

SAXPY = """
@triton.jit
def saxpy(alpha, xs, ys, zs, n, incx, incy, NPROG: tl.constexpr, TPB: tl.constexpr):
    tid = tl.program_id(0) * TPB + tl.arange(0, TPB)
    for base in range(0, n, NPROG * TPB):
        idx = base + tid
        ok = idx < n
        xv = tl.load(xs + idx * incx, mask=ok, other=0.0).to(tl.float32)
        yv = tl.load(ys + idx * incy, mask=ok, other=0.0).to(tl.float32)
        tl.store(zs + idx, alpha * xv + yv, mask=ok)


def launcher(a, x, y):
    z = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    saxpy[(4,)](a, x, y, z, x.shape[0], x.stride(0), y.stride(0), NPROG=4, TPB=256)
    return z
"""

wrong(
    "scaled_add",
    "Four programs of 256 elements are launched whatever n is, and none of them goes on: nothing beyond the "
    "first 1024 elements is ever written.",
    "never written",
)(
    edited(
        SAXPY,
        ("    for base in range(0, n, NPROG * TPB):\n", "    for base in range(0, 1):\n"),
        title="four programs and no loop",
    )
)

wrong("scaled_add", "a multiplies y, and should multiply x: z = x + a·y.", "a scales y")(
    edited(SAXPY, ("alpha * xv + yv", "xv + alpha * yv"), title="xv + alpha * yv")
)

wrong("scaled_add", "y is read with the stride of x.", "out_of_bounds")(
    edited(SAXPY, ("idx * incy", "idx * incx"), title="incx for both vectors")
)


wrong(
    "row_sum",
    "The mask compares the columns with the number of programs, which is that of the rows.",
    "out_of_bounds",
)(
    written(
        """
@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    valid = lane < tl.num_programs(0)
    values = tl.load(x_ptr + row * stride_row + lane * stride_column, mask=valid, other=0.0)
    tl.store(s_ptr + row, tl.sum(values.to(tl.float32), axis=0))


def row_sum(x: Tensor) -> Tensor:
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
""",
        title="a mask by the number of rows",
    )
)
