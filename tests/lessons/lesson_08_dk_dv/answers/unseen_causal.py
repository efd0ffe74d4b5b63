"""Answers to dkv_kernel_causal, written without a look at the mistakes that lesson 08 declares."""

from __future__ import annotations

from tests.corpus import edited, right, wrong
from tests.lessons.lesson_08_dk_dv.answers.unseen_kernels import DKV_BY_THE_NOTEBOOK, DKV_TRANSPOSED

_changed = DKV_BY_THE_NOTEBOOK
for _old, _new in (
    (
        "    first = 0\n",
        "    first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q))\n"
        "    first = first // BLOCK_Q * BLOCK_Q\n",
    ),
    (
        "pp = tl.where(live[:, None], pp, 0.0)",
        "pp = tl.where(live[:, None] & (columns[None, :] <= rows[:, None] + S_k - S_q), pp, 0.0)",
    ),
    ("def dkv_kernel(", "def dkv_kernel_causal("),
):
    assert _changed.count(_old) == 1
    _changed = _changed.replace(_old, _new)
DKV_CAUSAL_BY_THE_NOTEBOOK = _changed

DKV_WHILE = """
@triton.jit
def dkv_while(
    q_p, k_p, v_p, g_p, lse_p, delta_p, dk_p, dv_p, scale, heads, n_q, n_k, dim,
    qb, qh, qs, qd, kb, kh, ks, kd, vb, vh, vs, vd, gb, gh, gs, gd, xb, xh, xs, xd, yb, yh, ys, yd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bz = tl.program_id(0).to(tl.int64)
    b, h = bz // heads, bz % heads
    j0 = tl.program_id(1) * BN
    k_blk = tl.make_block_ptr(k_p + b * kb + h * kh, (n_k, dim), (ks, kd), (j0, 0), (BN, BD), (1, 0))
    v_blk = tl.make_block_ptr(v_p + b * vb + h * vh, (n_k, dim), (vs, vd), (j0, 0), (BN, BD), (1, 0))
    k = tl.load(k_blk, boundary_check=(0, 1), padding_option="zero")
    v = tl.load(v_blk, boundary_check=(0, 1), padding_option="zero")
    j = j0 + tl.arange(0, BN)
    off = n_k - n_q
    i0 = tl.maximum(0, j0 - off) // BM * BM
    q_blk = tl.make_block_ptr(q_p + b * qb + h * qh, (n_q, dim), (qs, qd), (i0, 0), (BM, BD), (1, 0))
    g_blk = tl.make_block_ptr(g_p + b * gb + h * gh, (n_q, dim), (gs, gd), (i0, 0), (BM, BD), (1, 0))
    dk = tl.zeros((BN, BD), tl.float32)
    dv = tl.zeros((BN, BD), tl.float32)
    while i0 < n_q:
        i = i0 + tl.arange(0, BM)
        q = tl.load(q_blk, boundary_check=(0, 1), padding_option="zero")
        g = tl.load(g_blk, boundary_check=(0, 1), padding_option="zero")
        lse = tl.load(lse_p + bz * n_q + i, mask=i < n_q, other=float("inf"))
        lse = tl.where(lse == float("-inf"), float("inf"), lse)
        delta = tl.load(delta_p + bz * n_q + i, mask=i < n_q, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(j[None, :] <= i[:, None] + off, s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        dv = tl.dot(tl.trans(p).to(g.dtype), g, dv, input_precision="ieee")
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk = tl.dot(tl.trans(ds).to(q.dtype), q, dk, input_precision="ieee")
        q_blk = tl.advance(q_blk, (BM, 0))
        g_blk = tl.advance(g_blk, (BM, 0))
        i0 += BM
    dk = dk * scale
    dk_blk = tl.make_block_ptr(dk_p + b * xb + h * xh, (n_k, dim), (xs, xd), (j0, 0), (BN, BD), (1, 0))
    dv_blk = tl.make_block_ptr(dv_p + b * yb + h * yh, (n_k, dim), (ys, yd), (j0, 0), (BN, BD), (1, 0))
    tl.store(dk_blk, dk.to(dk_p.dtype.element_ty), boundary_check=(0, 1))
    tl.store(dv_blk, dv.to(dv_p.dtype.element_ty), boundary_check=(0, 1))


def dkv_kernel_causal(q, k, v, o, do, lse, alpha):
    batch, heads, n_q, dim = q.shape
    n_k = k.shape[2]
    delta = (o.float() * do.float()).sum(dim=3).contiguous()
    dk, dv = k.new_empty(k.shape), v.new_empty(v.shape)
    dkv_while[(batch * heads, triton.cdiv(n_k, 16))](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, heads, n_q, n_k, dim,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BM=32, BN=16, BD=max(16, triton.next_power_of_2(dim)),
    )
    return dk, dv
"""

DKV_TWO_PHASES = """
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def _add_queries(
    dk, dv, k, v, Q, G, LSE, DELTA, lo, hi, j, off, Sq, D, sqm, sqd, sgm, sgd, scale,
    EDGE: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr,
):
    d = tl.arange(0, BD)
    for i0 in range(lo, hi, BM):
        i = i0 + tl.arange(0, BM)
        ok = (i[:, None] < Sq) & (d[None, :] < D)
        q = tl.load(Q + i[:, None] * sqm + d[None, :] * sqd, mask=ok, other=0.0)
        g = tl.load(G + i[:, None] * sgm + d[None, :] * sgd, mask=ok, other=0.0)
        lse = tl.load(LSE + i, mask=i < Sq, other=float("inf"))
        delta = tl.load(DELTA + i, mask=i < Sq, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        if EDGE:
            lse = tl.where(lse == float("-inf"), float("inf"), lse)
            s = tl.where(i[:, None] + off >= j[None, :], s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p).to(g.dtype), g, input_precision="ieee")
        ds = p * (tl.dot(g, tl.trans(v), input_precision="ieee") - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    return dk, dv


@triton.jit
def dkv_two_phases(
    Q, K, V, G, LSE, DELTA, DK, DV, scale, H, Sq, Sk, D,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd, sgb, sgh, sgm, sgd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    j0 = tl.program_id(0) * BN
    j = j0 + tl.arange(0, BN)
    d = tl.arange(0, BD)
    ok = (j[:, None] < Sk) & (d[None, :] < D)
    k = tl.load(K + b * skb + h * skh + j[:, None] * skn + d[None, :] * skd, mask=ok, other=0.0)
    v = tl.load(V + b * svb + h * svh + j[:, None] * svn + d[None, :] * svd, mask=ok, other=0.0)
    Q += b * sqb + h * sqh
    G += b * sgb + h * sgh
    LSE += bh * Sq
    DELTA += bh * Sq
    off = Sk - Sq
    lo = tl.maximum(0, j0 - off) // BM * BM  # the first query that sees a key of the block
    mid = (tl.maximum(0, j0 + BN - 1 - off) + BM - 1) // BM * BM  # from here on all keys are seen
    mid = tl.minimum(mid, (Sq + BM - 1) // BM * BM)
    dk = tl.zeros([BN, BD], tl.float32)
    dv = tl.zeros([BN, BD], tl.float32)
    dk, dv = _add_queries(
        dk, dv, k, v, Q, G, LSE, DELTA, lo, mid, j, off, Sq, D, sqm, sqd, sgm, sgd, scale, True, BM, BD
    )
    # the rest needs no mask
    dk, dv = _add_queries(
        dk, dv, k, v, Q, G, LSE, DELTA, mid, Sq, j, off, Sq, D, sqm, sqd, sgm, sgd, scale, False, BM, BD
    )
    at = (bh * Sk + j[:, None]) * D + d[None, :]
    tl.store(DK + at, (scale * dk).to(DK.dtype.element_ty), mask=ok)
    tl.store(DV + at, dv.to(DV.dtype.element_ty), mask=ok)


def dkv_kernel_causal(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    Sk = k.shape[2]
    dk = torch.empty((B, H, Sk, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, Sk, D), dtype=v.dtype, device=v.device)
    dkv_two_phases[(triton.cdiv(Sk, 16), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dk, dv, alpha, H, Sq, Sk, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BM=16, BN=16, BD=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
"""

right(
    "dkv_kernel_causal", "unseen: the tiles of queries start at the first that sees the block, wherever it is"
)(edited(DKV_CAUSAL_BY_THE_NOTEBOOK, ("    first = first // BLOCK_Q * BLOCK_Q\n", "")))

wrong(
    "dkv_kernel_causal",
    "The loop starts at the block's own key number, without S_q - S_k: with more keys than queries the first "
    "queries that see the block are left out.",
    "loop start without S_k − S_q",
)(
    edited(
        DKV_TRANSPOSED,
        ("lo = tl.maximum(start_n + N_Q - N_KV, 0) // BLOCK_M1 * BLOCK_M1", "lo = start_n"),
        title="unseen: lo = start_n",
        launcher="dkv_kernel_causal",
    )
)

wrong(
    "dkv_kernel_causal",
    "The start is rounded up: the tile in which the first seeing query lies is left out.",
    "the first block that sees the keys is left out",
)(
    edited(
        DKV_CAUSAL_BY_THE_NOTEBOOK,
        ("first = first // BLOCK_Q * BLOCK_Q", "first = tl.cdiv(first, BLOCK_Q) * BLOCK_Q"),
        title="unseen: the start rounded up",
    )
)

wrong(
    "dkv_kernel_causal",
    "A query that saw nothing has LSE -inf, and exp(-inf + inf) is NaN: it spoils every key of the block.",
    "no guard for queries that see nothing",
    "inf minus inf",
)(
    edited(
        DKV_WHILE,
        ('        lse = tl.where(lse == float("-inf"), float("inf"), lse)\n', ""),
        title="unseen: no guard in the while loop",
    )
)

wrong(
    "dkv_kernel_causal",
    "The mask is the wrong way round: in the transposed tile it keeps the keys after the query.",
    "leak from the future",
)(
    edited(
        DKV_TRANSPOSED,
        (
            "mask = offs_m[None, :] + N_KV - N_Q >= offs_n[:, None]",
            "mask = offs_m[None, :] + N_KV - N_Q <= offs_n[:, None]",
        ),
        title="unseen: the transposed mask reversed",
        launcher="dkv_kernel_causal",
    )
)

wrong(
    "dkv_kernel_causal",
    "Two mistakes: the mask is aligned top-left (and the start with it), and dK lacks alpha.",
    "mask aligned top-left + alpha is missing from dK",
    "mask aligned top-left",
    "alpha is missing from dK",
    "loop start without S_k − S_q",
)(
    edited(
        DKV_WHILE,
        ("    off = n_k - n_q\n", "    off = 0\n"),
        ("    dk = dk * scale\n", ""),
        title="unseen: top-left, and no alpha",
    )
)

wrong(
    "dkv_kernel_causal",
    "The second phase starts from zeros again: what the first found at the diagonal is lost.",
    "loop starts one block late",
)(
    edited(
        DKV_TWO_PHASES,
        (
            "    # the rest needs no mask\n",
            "    # the rest needs no mask\n    dk = tl.zeros([BN, BD], tl.float32)\n"
            "    dv = tl.zeros([BN, BD], tl.float32)\n",
        ),
        title="unseen: zeros between the phases",
    )
)

wrong(
    "dkv_kernel_causal",
    "One wrong sign: the offset is S_q − S_k, in the mask and in the loop's start.",
    "S_k − S_q with the wrong sign",
)(edited(DKV_WHILE, ("    off = n_k - n_q\n", "    off = n_q - n_k\n"), title="off = n_q - n_k"))
