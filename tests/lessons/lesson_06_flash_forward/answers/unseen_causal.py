"""Answers to flash_forward_causal, written without a look at the mistakes that lesson 06 declares."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong
from tests.lessons.lesson_06_flash_forward.answers.unseen_kernels import TUTORIAL_BLOCKS

TWO_PHASES = """
@triton.jit
def scan_keys(
    acc, l, m, q, K, V, lo, hi, i, off, Sk, D, skn, skd, svn, svd, scale,
    DIAGONAL: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    d = tl.arange(0, BD)
    for j0 in range(lo, hi, BN):
        j = j0 + tl.arange(0, BN)
        ok = (j < Sk)[:, None] & (d < D)[None, :]
        k = tl.load(K + j[:, None] * skn + d[None, :] * skd, mask=ok, other=0.0)
        v = tl.load(V + j[:, None] * svn + d[None, :] * svd, mask=ok, other=0.0)
        x = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        if DIAGONAL:
            x = tl.where((j < Sk)[None, :] & (j[None, :] <= i[:, None] + off), x, float("-inf"))
        top = tl.maximum(m, tl.max(x, 1))
        safe = tl.where(top == float("-inf"), 0.0, top)
        w = tl.exp(x - safe[:, None])
        c = tl.exp(m - safe)
        l = c * l + tl.sum(w, 1)
        acc = c[:, None] * acc + tl.dot(w.to(v.dtype), v, input_precision="ieee")
        m = top
    return acc, l, m


@triton.jit
def fwd_two_phases(
    Q, K, V, O, LSE, scale, H, Sq, Sk, D,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd, sob, soh, som, sod,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    i0 = tl.program_id(0) * BM
    i = i0 + tl.arange(0, BM)
    d = tl.arange(0, BD)
    inside = (i < Sq)[:, None] & (d < D)[None, :]
    q = tl.load(Q + b * sqb + h * sqh + i[:, None] * sqm + d[None, :] * sqd, mask=inside, other=0.0)
    K += b * skb + h * skh
    V += b * svb + h * svh
    off = Sk - Sq
    whole = tl.maximum(i0 + off + 1, 0) // BN * BN  # tiles that every query of the block sees
    end = tl.minimum(Sk, i0 + BM + off)
    acc = tl.zeros([BM, BD], tl.float32)
    l = tl.zeros([BM], tl.float32)
    m = tl.full([BM], float("-inf"), tl.float32)
    acc, l, m = scan_keys(
        acc, l, m, q, K, V, 0, whole, i, off, Sk, D, skn, skd, svn, svd, scale, False, BN, BD
    )
    acc, l, m = scan_keys(
        acc, l, m, q, K, V, whole, end, i, off, Sk, D, skn, skd, svn, svd, scale, True, BN, BD
    )
    out = acc / tl.where(l > 0, l, 1.0)[:, None]
    tl.store(
        O + b * sob + h * soh + i[:, None] * som + d[None, :] * sod, out.to(O.dtype.element_ty), mask=inside
    )
    tl.store(LSE + bh * Sq + i, m + tl.log(l), mask=i < Sq)


def flash_forward_causal(q, k, v, alpha):
    B, H, Sq, D = q.shape
    o = torch.empty((B, H, Sq, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, Sq), dtype=torch.float32, device=q.device)
    fwd_two_phases[(triton.cdiv(Sq, 32), B * H)](
        q, k, v, o, lse, alpha, H, Sq, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BM=32, BN=16, BD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
"""

RIGHT_TO_LEFT = """
@triton.jit
def backwards_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, heads, nq, nk, dim,
    q0, q1, q2, q3, k0, k1, k2, k3, v0, v1, v2, v3, o0, o1, o2, o3,
    TQ: tl.constexpr, TK: tl.constexpr, TD: tl.constexpr,
):
    block = tl.program_id(1)
    z = (tl.program_id(0) // heads).to(tl.int64)
    y = (tl.program_id(0) % heads).to(tl.int64)
    qi = block * TQ + tl.arange(0, TQ)
    lane = tl.arange(0, TK)
    e = tl.arange(0, TD)
    q_here = (qi[:, None] < nq) & (e[None, :] < dim)
    q = tl.load(q_ptr + z * q0 + y * q1 + qi[:, None] * q2 + e[None, :] * q3, mask=q_here, other=0.0)
    best = tl.full([TQ], float("-inf"), tl.float32)
    total = tl.zeros([TQ], tl.float32)
    mix = tl.zeros([TQ, TD], tl.float32)
    reach = nk - nq + qi  # the last key that each query sees
    stop = tl.minimum(nk, nk - nq + (block + 1) * TQ)
    tiles = (tl.maximum(stop, 0) + TK - 1) // TK
    for t in range(tiles):
        kj = (tiles - 1 - t) * TK + lane
        kv_here = (kj[:, None] < nk) & (e[None, :] < dim)
        k = tl.load(k_ptr + z * k0 + y * k1 + kj[:, None] * k2 + e[None, :] * k3, mask=kv_here, other=0.0)
        v = tl.load(v_ptr + z * v0 + y * v1 + kj[:, None] * v2 + e[None, :] * v3, mask=kv_here, other=0.0)
        score = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        score = tl.where((kj[None, :] <= reach[:, None]) & (kj[None, :] < nk), score, float("-inf"))
        better = tl.maximum(best, tl.max(score, 1))
        origin = tl.where(better == float("-inf"), 0.0, better)
        fade = tl.exp(best - origin)
        share = tl.exp(score - origin[:, None])
        total = total * fade + tl.sum(share, 1)
        mix = mix * fade[:, None] + tl.dot(share.to(v.dtype), v, input_precision="ieee")
        best = better
    result = mix / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(
        o_ptr + z * o0 + y * o1 + qi[:, None] * o2 + e[None, :] * o3,
        result.to(o_ptr.dtype.element_ty), mask=q_here,
    )
    tl.store(lse_ptr + tl.program_id(0).to(tl.int64) * nq + qi, best + tl.log(total), mask=qi < nq)


def flash_forward_causal(q, k, v, alpha):
    batch, heads, nq, dim = q.shape
    o = q.new_empty(q.shape)
    lse = q.new_empty((batch, heads, nq), dtype=torch.float32)
    backwards_kernel[(batch * heads, triton.cdiv(nq, 32))](
        q, k, v, o, lse, alpha, heads, nq, k.shape[-2], dim,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        TQ=32, TK=16, TD=max(16, triton.next_power_of_2(dim)),
    )
    return o, lse
"""

IN_THE_NOTEBOOK = """
@triton.jit
def flash_forward_causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q

    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    d_ok = d[None, :] < D
    q = tl.load(
        q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=(rows[:, None] < S_q) & d_ok, other=0.0
    )
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    n_tiles = tl.cdiv(tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q), BLOCK_K)
    for t in range(n_tiles):
        cols = t * BLOCK_K + keys
        kv_ok = (cols[:, None] < S_k) & d_ok
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=kv_ok, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        hidden = (cols[None, :] > rows[:, None] + (S_k - S_q)) | (cols[None, :] >= S_k)
        s = tl.where(hidden, -float("inf"), s)
        m_old = m
        m = tl.maximum(m_old, tl.max(s, axis=1))
        m_safe = tl.where(m == -float("inf"), 0.0, m)
        r = tl.exp(m_old - m_safe)
        p = tl.exp(s - m_safe[:, None])
        l = r * l + tl.sum(p, axis=1)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=kv_ok, other=0.0)
        acc = r[:, None] * acc + tl.dot(p.to(v.dtype), v, input_precision="ieee")
    l_safe = tl.where(l == 0.0, 1.0, l)
    o = acc / l_safe[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col,
        o.to(o_ptr.dtype.element_ty), mask=(rows[:, None] < S_q) & d_ok,
    )
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)


def flash_forward_causal(q, k, v, alpha):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_causal_kernel[(triton.cdiv(S_q, 32), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=BLOCK_D,
    )
    return o, lse
"""

right("flash_forward_causal", "unseen: tiles of keys from right to left, heads first in the grid")(
    written(RIGHT_TO_LEFT)
)

wrong(
    "flash_forward_causal",
    "The unmasked phase is rounded up: it takes the tile that crosses the diagonal, without a mask.",
    "leak from the future",
    "first divergence",
    "only whole tiles are hidden",
)(
    edited(
        TWO_PHASES,
        (
            "    whole = tl.maximum(i0 + off + 1, 0) // BN * BN",
            "    whole = tl.cdiv(tl.maximum(i0 + off + 1, 0), BN) * BN",
        ),
        title="unseen: a crossed tile in the unmasked phase",
    )
)

wrong(
    "flash_forward_causal",
    "The mask compares the key's place in its tile with the query, not the key's number: "
    "every tile is masked as if it were the first.",
    "leak from the future",
    "only whole tiles are hidden",
)(
    edited(
        IN_THE_NOTEBOOK,
        ("hidden = (cols[None, :] > rows[:, None]", "hidden = (keys[None, :] > rows[:, None]"),
        title="unseen: the mask without the tile's start",
    )
)

wrong(
    "flash_forward_causal",
    "Two mistakes: a query does not see the last of its keys (>= hides it), and acc is not rescaled.",
    "the diagonal is hidden + acc not rescaled",
    "the diagonal is hidden",
    "acc not rescaled",
)(
    edited(
        IN_THE_NOTEBOOK,
        ("(cols[None, :] > rows[:, None] + (S_k - S_q))", "(cols[None, :] >= rows[:, None] + (S_k - S_q))"),
        ("acc = r[:, None] * acc + tl.dot(", "acc = acc + tl.dot("),
        title="unseen: >= hides, and acc is not rescaled",
    )
)

wrong(
    "flash_forward_causal",
    "While a row has seen nothing its maximum is -inf, and -inf minus -inf is NaN; the guard is missing.",
    "inf minus inf",
)(
    edited(
        RIGHT_TO_LEFT,
        ('origin = tl.where(better == float("-inf"), 0.0, better)', "origin = better"),
        title="unseen: from right to left without a guard",
    )
)

wrong(
    "flash_forward_causal",
    "The loop ends before the block's own diagonal: the last tiles of keys that it sees are missing.",
    "loop ends one tile early",
    "last tile missing",
)(
    edited(
        TUTORIAL_BLOCKS,
        ("(start_m + 1) * BLOCK_M + KV_CTX - N_CTX", "start_m * BLOCK_M + KV_CTX - N_CTX"),
        title="unseen: the loop ends before the diagonal",
        launcher="flash_forward_causal",
    )
)

wrong(
    "flash_forward_causal",
    "Hidden scores are lowered by a million instead of set to -inf: a query that sees nothing averages "
    "what it must not see.",
    "a finite number for −inf",
    "leak from the future",
)(
    edited(
        TUTORIAL_BLOCKS,
        (
            '        qk = tl.where(mask, qk, float("-inf"))\n',
            "        qk = qk + tl.where(mask, 0, -1.0e6)\n",
        ),
        title="unseen: -1.0e6 for the hidden",
        launcher="flash_forward_causal",
    )
)
