"""Answers to the kernels of lesson 04, written without a look at the mistakes that it declares."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong

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
    "one edit",
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
