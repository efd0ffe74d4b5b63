"""Answers to the kernels of lesson 01, written without a look at the mistakes that it declares."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong

# ---------------------------------------------------------- bias_gradient: atomics, or partial sums

ATOMIC = """
@triton.jit
def colsum_atomic(g, acc, M, N, g_i, g_j, T: tl.constexpr):
    i = tl.program_id(0) * T + tl.arange(0, T)
    j = tl.program_id(1) * T + tl.arange(0, T)
    ok = (i < M)[:, None] & (j < N)[None, :]
    tile = tl.load(g + i[:, None] * g_i + j[None, :] * g_j, mask=ok, other=0.0).to(tl.float32)
    tl.atomic_add(acc + j, tl.sum(tile, axis=0), mask=j < N)


def launcher(dy):
    M, N = dy.shape
    acc = torch.zeros(N, dtype=torch.float32, device=dy.device)
    colsum_atomic[(triton.cdiv(M, 32), triton.cdiv(N, 32))](dy, acc, M, N, dy.stride(0), dy.stride(1), T=32)
    return acc.to(dy.dtype)
"""

PARTIAL = """
@triton.jit
def partial_kernel(dy_ptr, part_ptr, M, N, srow, scol, HEIGHT: tl.constexpr, WIDTH: tl.constexpr):
    band, strip = tl.program_id(1), tl.program_id(0)
    row = band * HEIGHT + tl.arange(0, HEIGHT)[:, None]
    col = strip * WIDTH + tl.arange(0, WIDTH)[None, :]
    vals = tl.load(dy_ptr + row * srow + col * scol, mask=(row < M) & (col < N), other=0.0)
    sums = tl.sum(vals.to(tl.float32), axis=0, keep_dims=True)
    tl.store(part_ptr + band * N + col, sums, mask=col < N)


def launcher(dy):
    M, N = dy.shape
    bands = triton.cdiv(M, 64)
    parts = torch.empty((bands, N), dtype=torch.float32, device=dy.device)
    partial_kernel[(triton.cdiv(N, 16), bands)](dy, parts, M, N, *dy.stride(), HEIGHT=64, WIDTH=16)
    return parts.sum(0).to(dy.dtype)
"""

wrong("bias_gradient", "The programs add to memory that nobody has set to zero.", "uninitialised memory")(
    edited(
        ATOMIC,
        ("torch.zeros(N, dtype", "torch.empty(N, dtype"),
        title="atomic_add into torch.empty, per tile",
    )
)

wrong(
    "bias_gradient",
    "The partial sums of 64 rows are rounded to dy's half precision before they meet.",
    "precision",
    "one edit",
)(
    edited(
        PARTIAL,
        ("(bands, N), dtype=torch.float32", "(bands, N), dtype=dy.dtype"),
        title="partial sums kept in dy's dtype",
    )
)

wrong(
    "bias_gradient",
    "Two mistakes: the sums are divided by the number of rows, and dy is addressed as if it were contiguous.",
    "mean instead of sum",
    "out_of_bounds + mean instead of sum",
)(
    edited(
        PARTIAL,
        ("row * srow + col * scol", "row * N + col"),
        ("parts.sum(0)", "(parts.sum(0) / M)"),
        title="means of a dy taken for contiguous",
    )
)

right("bias_gradient", "column sums as a product with ones, sixteen equal rows of which one is kept")(
    written("""
@triton.jit
def ones_times(dy, db, M, N, row_stride, col_stride, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ones = tl.full((16, BLOCK), 1.0, tl.float32)
    acc = tl.zeros((16, BLOCK), tl.float32)
    for top in range(0, M, BLOCK):
        rows = top + tl.arange(0, BLOCK)
        at = dy + rows[:, None] * row_stride + cols[None, :] * col_stride
        tile = tl.load(at, mask=(rows[:, None] < M) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(ones, tile.to(tl.float32), acc, input_precision="ieee")
    which = tl.arange(0, 16)[:, None]
    tl.store(db + cols[None, :] + which, acc, mask=(which == 0) & (cols[None, :] < N))


def launcher(dy):
    db = dy.new_empty(dy.shape[1])
    ones_times[(triton.cdiv(dy.shape[1], 32),)](dy, db, *dy.shape, *dy.stride(), BLOCK=32)
    return db
""")
)

wrong(
    "linear_backward",
    "dw is summed over its first dimension as if there were always a batch, and stays fp32.",
    "shape",
)(
    written(
        """
def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    dx = dy @ w.mT
    dw = (x.float().mT @ dy.float()).sum(0)
    return dx, dw
""",
        title="summed over a batch that is not there",
    )
)
