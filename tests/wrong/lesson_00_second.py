"""Answers to the kernels of lessons 00 to 05 and 09, written without a look at the grader's own mistakes."""

from __future__ import annotations

from tests.wrong import edited, right, written, wrong

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

# ---------------------------------------------------------- softmax_forward: three passes, or rows together

THREE_PASSES = """
@triton.jit
def softmax3(S, P, cols, s_r, s_c, p_r, CHUNK: tl.constexpr):
    row = tl.program_id(0)
    S += row * s_r
    P += row * p_r
    lane = tl.arange(0, CHUNK)
    top = tl.full((CHUNK,), -float("inf"), tl.float32)
    for c in range(0, cols, CHUNK):
        x = tl.load(S + (c + lane) * s_c, mask=c + lane < cols, other=-float("inf"))
        top = tl.maximum(top, x.to(tl.float32))
    m = tl.max(top, axis=0)
    z = 0.0
    for c in range(0, cols, CHUNK):
        x = tl.load(S + (c + lane) * s_c, mask=c + lane < cols, other=-float("inf"))
        z += tl.sum(tl.exp(x.to(tl.float32) - m), axis=0)
    for c in range(0, cols, CHUNK):
        x = tl.load(S + (c + lane) * s_c, mask=c + lane < cols, other=-float("inf"))
        tl.store(P + c + lane, tl.exp(x.to(tl.float32) - m) / z, mask=c + lane < cols)


def launcher(s):
    p = torch.empty(s.shape, dtype=s.dtype, device=s.device)
    softmax3[(s.shape[0],)](s, p, s.shape[1], s.stride(0), s.stride(1), p.stride(0), CHUNK=16)
    return p
"""

TOGETHER = """
@triton.jit
def softmax_rows(src, dst, n_rows, n_cols, stride_r, stride_c, TILE: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * TILE + tl.arange(0, TILE)[:, None]
    c = tl.arange(0, COLS)[None, :]
    inside = (r < n_rows) & (c < n_cols)
    x = tl.load(src + r * stride_r + c * stride_c, mask=inside, other=-float("inf")).to(tl.float32)
    peak = tl.max(x, axis=1, keep_dims=True)
    peak = tl.where(peak == -float("inf"), 0.0, peak)
    num = tl.exp(x - peak)
    den = tl.sum(num, axis=1, keep_dims=True)
    tl.store(dst + r * n_cols + c, num / den, mask=inside)


def launcher(s):
    p = s.new_empty(s.shape)
    n_rows, n_cols = s.shape
    grid = (triton.cdiv(n_rows, 2),)
    softmax_rows[grid](s, p, n_rows, n_cols, *s.stride(), TILE=2, COLS=triton.next_power_of_2(n_cols))
    return p
"""

wrong(
    "softmax_forward",
    "The running maximum starts at 0: where all scores lie far below, every exponential vanishes and 0 is "
    "divided by 0.",
    "zero over zero",
    "padding enters the maximum",
)(
    edited(
        THREE_PASSES,
        ('tl.full((CHUNK,), -float("inf"), tl.float32)', "tl.zeros((CHUNK,), tl.float32)"),
        title="the maximum of the scores and 0",
    )
)
wrong(
    "softmax_forward",
    "Each block is stored while the denominator is still growing: it is divided by the sum of the blocks up "
    "to its own.",
    "rows do not sum to 1",
    "divided by the sum so far",
)(
    edited(
        THREE_PASSES,
        (
            "        z += tl.sum(tl.exp(x.to(tl.float32) - m), axis=0)\n"
            "    for c in range(0, cols, CHUNK):\n"
            '        x = tl.load(S + (c + lane) * s_c, mask=c + lane < cols, other=-float("inf"))\n',
            "        z += tl.sum(tl.exp(x.to(tl.float32) - m), axis=0)\n",
        ),
        title="stored in the loop that sums",
    )
)
wrong(
    "softmax_forward",
    "The denominator is summed over all rows of the program's tile: it should be one for each row.",
    "rows do not sum to 1",
)(
    edited(
        TOGETHER,
        ("den = tl.sum(num, axis=1, keep_dims=True)", "den = tl.sum(num)"),
        title="tl.sum(num) of two rows",
    )
)
wrong(
    "softmax_forward",
    "Two mistakes: no maximum is subtracted, so large scores overflow; and the idle lanes hold 0, each of "
    "which adds exp(0) to the denominator.",
    "maximum not subtracted + padding enters the sum",
)(
    edited(
        TOGETHER,
        ('mask=inside, other=-float("inf")', "mask=inside, other=0.0"),
        ("num = tl.exp(x - peak)", "num = tl.exp(x)"),
        title="exp of the bare scores, padded with 0",
    )
)

# ---------------------------------------------------------- softmax_backward: the bracket multiplied out

DSOFTMAX = """
@triton.jit
def dsoftmax(P, G, DS, width, p_r, p_c, g_r, g_c, W: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    lanes = tl.zeros((W,), tl.float32)
    for first in range(0, width, W):
        c = first + tl.arange(0, W)
        p = tl.load(P + r * p_r + c * p_c, mask=c < width, other=0.0).to(tl.float32)
        g = tl.load(G + r * g_r + c * g_c, mask=c < width, other=0.0).to(tl.float32)
        lanes += p * g
    inner = tl.sum(lanes)
    for first in range(0, width, W):
        c = first + tl.arange(0, W)
        p2 = tl.load(P + r * p_r + c * p_c, mask=c < width, other=0.0).to(tl.float32)
        g2 = tl.load(G + r * g_r + c * g_c, mask=c < width, other=0.0).to(tl.float32)
        tl.store(DS + r * width + c, p2 * g2 - p2 * inner, mask=c < width)


def launcher(p, dp):
    ds = torch.empty(p.shape, dtype=p.dtype, device=p.device)
    dsoftmax[(p.shape[0],)](p, dp, ds, p.shape[1], *p.stride(), *dp.stride(), W=16)
    return ds
"""

wrong(
    "softmax_backward", "⟨p, dp⟩ is subtracted without its factor p: ds = p∘dp − ⟨p, dp⟩.", "p on dp alone"
)(edited(DSOFTMAX, ("p2 * g2 - p2 * inner", "p2 * g2 - inner"), title="p2 * g2 - inner"))
wrong(
    "softmax_backward",
    "The inner product is that of the row's last block alone.",
    "inner product of the last block",
)(edited(DSOFTMAX, ("lanes += p * g", "lanes = p * g"), title="lanes = p * g in the loop"))
wrong("softmax_backward", "dp is read with the strides of p.", "strides of p used for dp", "out_of_bounds")(
    edited(
        DSOFTMAX, ("*p.stride(), *dp.stride()", "*p.stride(), *p.stride()"), title="p.stride() passed twice"
    )
)

right("softmax_backward", "idle lanes of dp hold 7: their p is 0, and they are not stored")(
    written("""
@triton.jit
def sb(p_ptr, dp_ptr, ds_ptr, M, N, sp0, sp1, sd0, sd1, RB: tl.constexpr, CB: tl.constexpr):
    m = tl.program_id(0) * RB + tl.arange(0, RB)
    n = tl.arange(0, CB)
    keep = (m[:, None] < M) & (n[None, :] < N)
    p = tl.load(p_ptr + m[:, None] * sp0 + n[None, :] * sp1, mask=keep, other=0.0).to(tl.float32)
    dp = tl.load(dp_ptr + m[:, None] * sd0 + n[None, :] * sd1, mask=keep, other=7.0).to(tl.float32)
    mean = tl.sum(dp * p, axis=1)
    ds = (dp - mean[:, None]) * p
    tl.store(ds_ptr + m[:, None] * N + n[None, :], ds, mask=keep)


def launcher(p, dp):
    M, N = p.shape
    ds = dp.new_empty((M, N))
    block = triton.next_power_of_2(N)
    sb[(triton.cdiv(M, 4),)](p, dp, ds, M, N, *p.stride(), *dp.stride(), RB=4, CB=block)
    return ds
""")
)

# ---------------------------------------------------------- delta_preprocess: queries of all heads in a line

DELTA = """
@triton.jit
def delta_flat(
    O, G, out, H, S, total, D, o0, o1, o2, o3, g0, g1, g2, g3, ROWS: tl.constexpr, DB: tl.constexpr
):
    n = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    live = n < total
    s = n % S
    h = (n // S) % H
    b = n // (S * H)
    o_row = O + b * o0 + h * o1 + s * o2
    g_row = G + b * g0 + h * g1 + s * g2
    acc = tl.zeros((ROWS,), tl.float32)
    for d0 in range(0, D, DB):
        d = d0 + tl.arange(0, DB)
        keep = live[:, None] & (d < D)[None, :]
        o = tl.load(o_row[:, None] + d[None, :] * o3, mask=keep, other=0.0)
        g = tl.load(g_row[:, None] + d[None, :] * g3, mask=keep, other=0.0)
        acc += tl.sum(o.to(tl.float32) * g.to(tl.float32), axis=1)
    tl.store(out + n, acc, mask=live)


def launcher(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    total = B * H * S
    delta_flat[(triton.cdiv(total, 16),)](
        o, do, delta, H, S, total, D, *o.stride(), *do.stride(), ROWS=16, DB=16
    )
    return delta
"""

wrong(
    "delta_preprocess",
    "The head is n // S without the remainder by H: from the second batch entry on it counts past the heads "
    "that there are.",
    "out_of_bounds",
    "some heads",
)(edited(DELTA, ("h = (n // S) % H", "h = n // S"), title="h = n // S"))
wrong(
    "delta_preprocess",
    "o and do are multiplied in half precision and converted afterwards: digits are lost, and products "
    "beyond 65504 overflow.",
    "in half precision",
    "precision",
    "overflow",
)(
    edited(
        DELTA,
        ("tl.sum(o.to(tl.float32) * g.to(tl.float32), axis=1)", "tl.sum((o * g).to(tl.float32), axis=1)"),
        title="(o * g).to(tl.float32)",
    )
)
wrong(
    "delta_preprocess",
    "Two mistakes: do is read with the strides of o, and the sum is divided by D.",
    "strides of o used for do + mean over D",
    "out_of_bounds + mean over D",
)(
    edited(
        DELTA,
        ("*o.stride(), *do.stride()", "*o.stride(), *o.stride()"),
        ("tl.store(out + n, acc, mask=live)", "tl.store(out + n, acc / D, mask=live)"),
        title="o.stride() passed twice, acc / D",
    )
)

# ---------------------------------------------------------- online_logsumexp: a scan per lane, or base 2

LANES = """
@triton.jit
def lse_lanes(X, L, n, x0, x1, W: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    w = tl.arange(0, W)
    m = tl.full((W,), -float("inf"), tl.float32)
    l = tl.zeros((W,), tl.float32)
    for c in range(0, n, W):
        x = tl.load(X + row * x0 + (c + w) * x1, mask=c + w < n, other=-float("inf")).to(tl.float32)
        m2 = tl.maximum(m, x)
        safe = tl.where(m2 == -float("inf"), 0.0, m2)
        l = l * tl.exp(m - safe) + tl.exp(x - safe)
        m = m2
    top = tl.max(m, axis=0)
    base = tl.where(top == -float("inf"), 0.0, top)
    total = tl.sum(l * tl.exp(m - base), axis=0)
    tl.store(L + row, top + tl.log(total))


def launcher(x):
    lse = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    lse_lanes[(x.shape[0],)](x, lse, x.shape[1], x.stride(0), x.stride(1), W=16)
    return lse
"""

BASE2 = """
@triton.jit
def lse_base2(x_ptr, out_ptr, rows, cols, sx_r, sx_c, ROWS: tl.constexpr, STEP: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    hi = tl.full([ROWS], -float("inf"), tl.float32)
    acc = tl.full([ROWS], 0.0, tl.float32)
    for k in range(tl.cdiv(cols, STEP)):
        c = k * STEP + tl.arange(0, STEP)
        t = tl.load(
            x_ptr + r[:, None] * sx_r + c[None, :] * sx_c,
            mask=(r[:, None] < rows) & (c[None, :] < cols), other=-float("inf"),
        ).to(tl.float32) * 1.4426950408889634
        new_hi = tl.maximum(hi, tl.max(t, 1))
        ref = tl.where(new_hi == -float("inf"), 0.0, new_hi)
        acc = acc * tl.exp2(hi - ref) + tl.sum(tl.exp2(t - ref[:, None]), 1)
        hi = new_hi
    tl.store(out_ptr + r, (hi + tl.log2(acc)) * 0.6931471805599453, mask=r < rows)


def launcher(x):
    M, N = x.shape
    out = torch.empty((M,), dtype=torch.float32, device=x.device)
    lse_base2[(triton.cdiv(M, 4),)](x, out, M, N, *x.stride(), ROWS=4, STEP=32)
    return out
"""

wrong(
    "online_logsumexp",
    "At the end the lanes' sums are added as they are, each in units of its own lane's maximum: they must "
    "be brought to the common maximum first.",
    "lanes not brought together",
)(
    edited(
        LANES, ("tl.sum(l * tl.exp(m - base), axis=0)", "tl.sum(l, axis=0)"), title="lanes merged by sum(l)"
    )
)
wrong(
    "online_logsumexp",
    "The number of steps is rounded down: the last, incomplete block is left out.",
    "last block left out",
    "last tile missing",
)(edited(BASE2, ("range(tl.cdiv(cols, STEP))", "range(cols // STEP)"), title="cols // STEP steps in base 2"))
wrong(
    "online_logsumexp",
    "Two mistakes: the result is left in base 2; and where only −inf has been seen, −inf − (−inf) makes NaN.",
    "constant factor + −inf minus −inf",
    "constant factor + inf minus inf",
)(
    edited(
        BASE2,
        ('tl.where(new_hi == -float("inf"), 0.0, new_hi)', "new_hi"),
        ("(hi + tl.log2(acc)) * 0.6931471805599453", "hi + tl.log2(acc)"),
        title="base 2 kept, no guard",
    )
)

right("online_logsumexp", "the maximum starts at −10⁹, so that no guard is needed; one exponential by abs")(
    written("""
@triton.jit
def finite_start(x_ptr, lse_ptr, n_cols, stride_row, stride_col, BLOCK: tl.constexpr):
    x_ptr += tl.program_id(0).to(tl.int64) * stride_row
    m_prev, d_prev = -1.0e9, 0.0
    for off in range(0, n_cols, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        xs = tl.load(x_ptr + cols * stride_col, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        m_blk = tl.maximum(tl.max(xs, axis=0), -1.0e9)
        d_blk = tl.sum(tl.exp(xs - m_blk), axis=0)
        gap = tl.exp(-tl.abs(m_prev - m_blk))
        d_prev = tl.where(m_blk > m_prev, d_prev * gap + d_blk, d_prev + d_blk * gap)
        m_prev = tl.maximum(m_prev, m_blk)
    tl.store(lse_ptr + tl.program_id(0), tl.log(d_prev) + m_prev)


def launcher(x):
    lse = torch.empty(x.size(0), dtype=torch.float32, device=x.device)
    finite_start[(x.size(0),)](x, lse, x.size(1), x.stride(0), x.stride(1), BLOCK=32)
    return lse
""")
)

# ---------------------------------------------------------- recompute_probabilities: tiles in a line

REBUILD = """
@triton.jit
def rebuild(S, L, P, R, C, s0, s1, l0, per_line, TR: tl.constexpr, TC: tl.constexpr):
    tile = tl.program_id(0)
    r = (tile // per_line) * TR + tl.arange(0, TR)
    c = (tile % per_line) * TC + tl.arange(0, TC)
    live = (r[:, None] < R) & (c[None, :] < C)
    lse = tl.load(L + r * l0, mask=r < R, other=0.0)[:, None]
    x = tl.load(S + r[:, None] * s0 + c[None, :] * s1, mask=live, other=-float("inf")).to(tl.float32)
    e = tl.where(lse > -float("inf"), tl.exp(x - lse), 0.0)
    tl.store(P + r[:, None] * C + c[None, :], e, mask=live)


def launcher(s, lse):
    R, C = s.shape
    p = torch.empty((R, C), dtype=s.dtype, device=s.device)
    down, across = triton.cdiv(R, 16), triton.cdiv(C, 16)
    rebuild[(down * across,)](s, lse, p, R, C, *s.stride(), lse.stride(0), across, TR=16, TC=16)
    return p
"""

wrong(
    "recompute_probabilities",
    "A tile's number is taken apart by the number of tiles in a column, not in a row: where the two differ, "
    "some tiles have no program and others lie outside.",
    "never written",
)(
    edited(
        REBUILD, ("lse.stride(0), across, TR", "lse.stride(0), down, TR"), title="tile // down, tile % down"
    )
)
wrong(
    "recompute_probabilities",
    "Each row of a tile is divided by its own sum, although LSE has normalised the whole row already.",
    "softmax of the tile",
)(
    edited(
        REBUILD,
        ("    tl.store(P + r", "    e = e / tl.sum(e, axis=1)[:, None]\n    tl.store(P + r"),
        title="a softmax of each tile",
    )
)
wrong(
    "recompute_probabilities",
    "Two mistakes: the stride of lse is ignored; and a row of nothing but −inf gives NaN, since "
    "−inf − (−inf) is not guarded against.",
    "stride of lse ignored + −inf minus −inf",
    "out_of_bounds + −inf minus −inf",
)(
    edited(
        REBUILD,
        ("tl.load(L + r * l0,", "tl.load(L + r,"),
        ('tl.where(lse > -float("inf"), tl.exp(x - lse), 0.0)', "tl.exp(x - lse)"),
        title="lse without its stride, exp without a guard",
    )
)

# ---------------------------------------------------------- tiled_matmul: the tutorial's grouped order

GROUPED = """
@triton.jit
def mm_grouped(
    A, B, C, M, N, K, am, ak, bk, bn, cm, cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    per_group = GROUP * tiles_n
    first = pid // per_group * GROUP
    height = tl.minimum(tiles_m - first, GROUP)
    pm = first + (pid % per_group) % height
    pn = (pid % per_group) // height
    # indices that wrap around need no mask
    om = (pm * BM + tl.arange(0, BM)) % M
    on = (pn * BN + tl.arange(0, BN)) % N
    ok = tl.arange(0, BK)
    pa = A + om[:, None] * am + ok[None, :] * ak
    pb = B + ok[:, None] * bk + on[None, :] * bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(pa, mask=ok[None, :] < K - k * BK, other=0.0)
        b = tl.load(pb, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        pa += BK * ak
        pb += BK * bk
    oi = pm * BM + tl.arange(0, BM)
    oj = pn * BN + tl.arange(0, BN)
    tl.store(C + oi[:, None] * cm + oj[None, :] * cn, acc.to(C.dtype.element_ty),
             mask=(oi[:, None] < M) & (oj[None, :] < N))


def launcher(a, b):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = lambda META: (triton.cdiv(M, META["BM"]) * triton.cdiv(N, META["BN"]),)
    mm_grouped[grid](
        a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
        BM=16, BN=32, BK=32, GROUP=2,
    )
    return c
"""

right(
    "tiled_matmul", "the tutorial's grouped order; rows and columns wrap around the edge and are masked last"
)(written(GROUPED))
wrong(
    "tiled_matmul",
    "The mask of the inner dimension compares the lanes with K, not with what is left of K: the last, "
    "incomplete step reads beyond the ends of A's rows and B's columns.",
    "inner dimension not masked",
    "out_of_bounds",
)(
    edited(
        GROUPED,
        ("ok[None, :] < K - k * BK", "ok[None, :] < K"),
        ("ok[:, None] < K - k * BK", "ok[:, None] < K"),
        title="ok < K in every step",
    )
)
wrong(
    "tiled_matmul",
    "The last group of tiles is taken to be as high as the others: where it is not, some tiles have no "
    "program.",
    "never written",
)(edited(GROUPED, ("tl.minimum(tiles_m - first, GROUP)", "GROUP"), title="every group has its full height"))
wrong(
    "tiled_matmul",
    "Two mistakes: the sum is carried in C's half precision, and the last, incomplete step along K is left "
    "out.",
    "accumulator in half precision + last block of K left out",
)(
    edited(
        GROUPED,
        ("acc = tl.zeros((BM, BN), dtype=tl.float32)", "acc = tl.zeros((BM, BN), dtype=C.dtype.element_ty)"),
        (
            'acc = tl.dot(a, b, acc, input_precision="ieee")',
            'acc += tl.dot(a, b, input_precision="ieee").to(acc.dtype)',
        ),
        ("range(0, tl.cdiv(K, BK))", "range(0, K // BK)"),
        title="acc in C's dtype, K // BK steps",
    )
)

# ---------------------------------------------------------- strided_inputs

STRIDES = """
from flashlearn.kernels.flash_forward import flash_forward_kernel


def check_args(q, k, v):
    args = dict(q=q, k=k, v=v)
    for name, t in args.items():
        if t.ndim != 4:
            raise ValueError(f"{name} should be [B, H, S, D], but its shape is {tuple(t.shape)}")
        if t.dtype not in {torch.float32, torch.float16, torch.bfloat16}:
            raise TypeError(f"{name} is {t.dtype}; float32, float16 and bfloat16 are supported")
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype}, but q is {q.dtype}")
        if t.device != q.device:
            raise ValueError(f"{name} is on {t.device}, but q is on {q.device}")
    B, H, _, D = q.shape
    wanted = (B, H, k.shape[2], D)
    for name in ("k", "v"):
        if tuple(args[name].shape) != wanted:
            raise ValueError(f"{name} has shape {tuple(args[name].shape)}, wanted {wanted} to go with q")


def launcher(q, k, v, alpha=None):
    check_args(q, k, v)
    B, H, N, D = q.shape
    scale = D**-0.5 if alpha is None else alpha
    out = torch.empty((B, H, N, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, N), dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(N, 32), B * H)
    flash_forward_kernel[grid](
        q, k, v, out, lse, scale, H, N, k.size(2), D,
        *q.stride(), *k.stride(), *v.stride(), H * N * D, N * D, D, 1,
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return out, lse
"""

wrong(
    "strided_inputs",
    "empty_like gives o the layout of q, and the kernel is told contiguous strides: where q is laid out "
    "otherwise, o's elements end up in each other's places.",
    "o's layout",
)(
    edited(
        STRIDES,
        ("torch.empty((B, H, N, D), dtype=q.dtype, device=q.device)", "torch.empty_like(q)"),
        title="empty_like(q), and strides by hand",
    )
)
wrong(
    "strided_inputs",
    "The batch is put on a third axis of the grid, which the kernel does not read: all programs of a head "
    "work on the first batch entry.",
    "never written",
    "race",
    "written twice",
)(
    edited(
        STRIDES, ("triton.cdiv(N, 32), B * H)", "triton.cdiv(N, 32), H, B)"), title="a grid (queries, H, B)"
    )
)
