"""Answers to the kernels of lesson 02, written without a look at the mistakes that it declares."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong

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
