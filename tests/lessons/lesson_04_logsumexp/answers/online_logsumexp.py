"""Lesson 04: answers to `online_logsumexp`."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong

ROWS = """
@triton.jit
def lse_rows(X, L, M, N, stride_m, stride_n, BM: tl.constexpr, BN: tl.constexpr):
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)
    ok_m = offs_m < M
    m_i = tl.zeros([BM], tl.float32) - float("inf")
    l_i = tl.zeros([BM], tl.float32)
    for start_n in range(0, N, BN):
        offs_n = start_n + tl.arange(0, BN)
        ok = ok_m[:, None] & (offs_n[None, :] < N)
        x = tl.load(X + offs_m[:, None] * stride_m + offs_n[None, :] * stride_n, mask=ok, other=float("-inf"))
        x = x.to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, 1))
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
        alpha = tl.exp(m_i - m_safe)
        l_i = l_i * alpha + tl.sum(tl.exp(x - m_safe[:, None]), 1)
        m_i = m_new
    tl.store(L + offs_m, m_i + tl.log(l_i), mask=ok_m)


def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32)
    lse_rows[(triton.cdiv(M, 4),)](x, lse, M, N, x.stride(0), x.stride(1), BM=4, BN=16)
    return lse
"""

BASE_2 = """
@triton.jit
def lse_base2(x_ptr, out_ptr, cols, sr, sc, BLOCK: tl.constexpr):
    LOG2E: tl.constexpr = 1.4426950408889634
    LN2: tl.constexpr = 0.6931471805599453
    r = tl.program_id(0)
    top = -1.0e30
    total = 0.0
    k = 0
    while k < cols:
        c = k + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + r * sr + c * sc, mask=c < cols, other=-float("inf")).to(tl.float32) * LOG2E
        above = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp2(top - above) + tl.sum(tl.exp2(x - above), axis=0)
        top = above
        k += BLOCK
    tl.store(out_ptr + r, (top + tl.log2(total)) * LN2)


def online_logsumexp(x):
    out = torch.empty(x.shape[0], device=x.device)
    lse_base2[(x.shape[0],)](x, out, x.shape[1], *x.stride(), BLOCK=64)
    return out
"""

PER_LANE = """
@triton.jit
def lanes_lse(x_ptr, lse_ptr, N, rs, cs, LANES: tl.constexpr):
    # a maximum and a sum for every lane; they meet after the loop
    row = x_ptr + tl.program_id(0) * rs
    m = tl.full([LANES], -float("inf"), tl.float32)
    s = tl.zeros([LANES], tl.float32)
    for at in range(0, N, LANES):
        j = at + tl.arange(0, LANES)
        v = tl.load(row + j * cs, mask=j < N, other=-float("inf")).to(tl.float32)
        bigger = tl.maximum(m, v)
        ref = tl.where(bigger == -float("inf"), 0.0, bigger)
        s = s * tl.exp(m - ref) + tl.exp(v - ref)
        m = bigger
    top = tl.max(m, 0)
    ref = tl.where(top == -float("inf"), 0.0, top)
    total = tl.sum(s * tl.exp(m - ref), 0)
    tl.store(lse_ptr + tl.program_id(0), top + tl.log(total))


def online_logsumexp(x):
    lse = x.new_empty(x.shape[0], dtype=torch.float32)
    lanes_lse[(x.shape[0],)](x, lse, x.shape[1], x.stride(0), x.stride(1), LANES=8)
    return lse
"""

right("online_logsumexp", "four rows per program")(written(ROWS))
right("online_logsumexp", "powers of two, a while loop that starts at −1e30")(written(BASE_2))
right("online_logsumexp", "a running maximum for every lane")(written(PER_LANE))

wrong(
    "online_logsumexp",
    "The earlier sum is not rescaled when the maximum moves.",
    "l not rescaled",
    "not rescaled",
    title="rows, alpha unused",
)(edited(ROWS, ("l_i = l_i * alpha +", "l_i = l_i +")))

wrong(
    "online_logsumexp",
    "m_i is overwritten before alpha is taken from it: alpha is always 1.",
    "l not rescaled",
    "not rescaled",
    title="rows, m_i overwritten too early",
)(
    edited(
        ROWS,
        (
            "        alpha = tl.exp(m_i - m_safe)\n",
            "        m_i = m_new\n        alpha = tl.exp(m_i - m_safe)\n",
        ),
        ("1)\n        m_i = m_new\n", "1)\n"),
    )
)

wrong(
    "online_logsumexp",
    "Without the guard −inf − (−inf) is NaN.",
    "−inf minus −inf",
    "inf minus inf",
    title="rows, no guard",
)(edited(ROWS, ('tl.where(m_new == float("-inf"), 0.0, m_new)', "m_new")))

wrong(
    "online_logsumexp",
    "Padding of 0 counts as scores of 0.",
    "padding enters the sum",
    title="rows, other=0",
)(edited(ROWS, ('other=float("-inf")', "other=0.0")))

wrong(
    "online_logsumexp",
    "Padding of −10⁴ is no −inf: in a row of nothing but −inf it is the maximum.",
    "a finite number for −inf",
    title="rows, other=-1e4",
)(edited(ROWS, ('other=float("-inf")', "other=-1.0e4")))

wrong(
    "online_logsumexp",
    "The rows beyond the last are loaded, and stored.",
    "out_of_bounds",
    title="rows, no mask for rows",
)(edited(ROWS, ("ok_m = offs_m < M", "ok_m = offs_m >= 0")))

wrong(
    "online_logsumexp",
    "The reduction runs over the tile's rows instead of its columns.",
    "crashed",
    title="rows, the maximum over axis 0",
)(edited(ROWS, ("tl.max(x, 1)", "tl.max(x, 0)"), ("BM=4, BN=16", "BM=4, BN=8")))

wrong(
    "online_logsumexp",
    "log2 of the sum stands beside a maximum that was scaled back: the ln 2 is missing for the logarithm.",
    "base-2 logarithm",
    title="base 2, ln 2 for the maximum only",
)(edited(BASE_2, ("(top + tl.log2(total)) * LN2", "top * LN2 + tl.log2(total)")))

wrong(
    "online_logsumexp",
    "The result is left in powers of two: multiply by ln 2.",
    "constant factor",
    title="base 2, no ln 2",
)(edited(BASE_2, ("(top + tl.log2(total)) * LN2", "top + tl.log2(total)")))

wrong(
    "online_logsumexp",
    "The running maximum starts at 0: a row far below zero underflows, and log 0 is −inf.",
    "maximum starts at 0",
    title="base 2, top starts at 0",
)(edited(BASE_2, ("top = -1.0e30", "top = 0.0")))

wrong(
    "online_logsumexp",
    "The columns of a view are taken as neighbours.",
    "columns one apart",
    "out_of_bounds",
    title="base 2, columns one apart",
)(edited(BASE_2, ("c * sc", "c")))

wrong(
    "online_logsumexp",
    "The last, incomplete block is left out.",
    "last block left out",
    "last tile missing",
    title="base 2, while k + BLOCK <= cols",
)(edited(BASE_2, ("while k < cols", "while k + BLOCK <= cols")))

wrong(
    "online_logsumexp",
    "The lanes are added without being brought to the common maximum.",
    "lanes not brought together",
    "not rescaled",
    title="lanes, not brought together",
)(edited(PER_LANE, ("tl.sum(s * tl.exp(m - ref), 0)", "tl.sum(s, 0)")))

wrong(
    "online_logsumexp",
    "The maximum is not added back.",
    "maximum not added back",
    title="lanes, log of the total alone",
)(edited(PER_LANE, ("top + tl.log(total)", "tl.log(total)")))

wrong(
    "online_logsumexp",
    "Scores and exponentials stay in half precision.",
    "exponentials in half precision",
    "precision",
    title="lanes, carried in the dtype of x",
)(
    edited(
        PER_LANE,
        (
            "s * tl.exp(m - ref) + tl.exp(v - ref)",
            "s * tl.exp(m - ref) + tl.exp(v - ref).to(x_ptr.dtype.element_ty).to(tl.float32)",
        ),
    )
)

wrong(
    "online_logsumexp",
    "The sum is not rescaled, and the maximum is not added back: two mistakes.",
    "l not rescaled + maximum not added back",
    "not rescaled + maximum not added back",
    title="rows, not rescaled and not added back",
)(edited(ROWS, ("l_i = l_i * alpha +", "l_i = l_i +"), ("m_i + tl.log(l_i)", "tl.log(l_i)")))

wrong(
    "online_logsumexp",
    "One block of 1024 and no loop: what lies beyond is left out.",
    "last tile missing",
    "only the first tile",
)(
    edited(
        PER_LANE,
        ("for at in range(0, N, LANES):", "for at in range(0, 1):"),
        ("LANES=8", "LANES=1024"),
        title="one block of 1024",
    )
)
