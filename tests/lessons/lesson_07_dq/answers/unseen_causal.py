"""Answers to dq_kernel_causal, written without a look at the mistakes that lesson 07 declares."""

from __future__ import annotations

from tests.corpus import edited, wrong
from tests.lessons.lesson_07_dq.answers.unseen_kernels import DQ_BASE_2, DQ_BLOCK_POINTERS, DQ_BY_THE_NOTEBOOK

_changed = DQ_BY_THE_NOTEBOOK
for _old, _new in (
    (
        "    grad = tl.zeros(",
        '    L = tl.where(L == -float("inf"), float("inf"), L)\n'
        "    limit = rows[:, None] + (S_k - S_q)\n"
        "    stop = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)\n"
        "    grad = tl.zeros(",
    ),
    ("range(0, tl.cdiv(S_k, BLOCK_K))", "range(0, tl.cdiv(stop, BLOCK_K))"),
    (
        "S = tl.where((cols < S_k)[None, :], S,",
        "S = tl.where((cols < S_k)[None, :] & (cols[None, :] <= limit), S,",
    ),
    ("def dq_kernel(", "def dq_kernel_causal("),
):
    assert _changed.count(_old) == 1
    _changed = _changed.replace(_old, _new)
DQ_CAUSAL_BY_THE_NOTEBOOK = _changed

DQ_TWO_PHASES = """
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def _dq_part(
    dq, q, do, lse, delta, K, V, lo, hi, i, off, Sk, D, skn, skd, svn, svd, scale,
    EDGE: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    d = tl.arange(0, BD)
    for j0 in range(lo, hi, BN):
        j = j0 + tl.arange(0, BN)
        ok = (j[:, None] < Sk) & (d[None, :] < D)
        k = tl.load(K + j[:, None] * skn + d[None, :] * skd, mask=ok, other=0.0)
        v = tl.load(V + j[:, None] * svn + d[None, :] * svd, mask=ok, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        if EDGE:
            s = tl.where((j[None, :] < Sk) & (i[:, None] + off >= j[None, :]), s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    return dq


@triton.jit
def dq_two_phases(
    Q, K, V, DO, LSE, DELTA, DQ, scale, H, Sq, Sk, D,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd, sgb, sgh, sgm, sgd, sxb, sxh, sxm, sxd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    i0 = tl.program_id(0) * BM
    i = i0 + tl.arange(0, BM)
    d = tl.arange(0, BD)
    ok = (i[:, None] < Sq) & (d[None, :] < D)
    q = tl.load(Q + b * sqb + h * sqh + i[:, None] * sqm + d[None, :] * sqd, mask=ok, other=0.0)
    do = tl.load(DO + b * sgb + h * sgh + i[:, None] * sgm + d[None, :] * sgd, mask=ok, other=0.0)
    lse = tl.load(LSE + bh * Sq + i, mask=i < Sq, other=0.0)
    lse = tl.where(lse == float("-inf"), 0.0, lse)  # nothing seen: all scores are -inf anyway
    delta = tl.load(DELTA + bh * Sq + i, mask=i < Sq, other=0.0)
    K += b * skb + h * skh
    V += b * svb + h * svh
    off = Sk - Sq
    full = tl.maximum(0, i0 + off + 1) // BN * BN
    stop = tl.minimum(Sk, i0 + BM + off)
    dq = tl.zeros([BM, BD], tl.float32)
    dq = _dq_part(
        dq, q, do, lse, delta, K, V, 0, full, i, off, Sk, D, skn, skd, svn, svd, scale, False, BN, BD
    )
    dq = _dq_part(
        dq, q, do, lse, delta, K, V, full, stop, i, off, Sk, D, skn, skd, svn, svd, scale, True, BN, BD
    )
    dq = dq * scale
    tl.store(
        DQ + b * sxb + h * sxh + i[:, None] * sxm + d[None, :] * sxd, dq.to(DQ.dtype.element_ty), mask=ok
    )


def dq_kernel_causal(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, Sq, D), dtype=q.dtype, device=q.device)
    dq_two_phases[(triton.cdiv(Sq, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, Sq, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BM=32, BN=16, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq
"""

wrong(
    "dq_kernel_causal",
    "Mask and loop end are aligned top-left: the shift S_k - S_q is missing from both.",
    "mask aligned top-left",
    "loop end without S_k − S_q",
)(
    edited(
        DQ_BASE_2,
        ("offs_m[:, None] + N_KV - N_Q >= cols[None, :]", "offs_m[:, None] >= cols[None, :]"),
        ("start_m + BLOCK_M2 + N_KV - N_Q)", "start_m + BLOCK_M2)"),
        title="unseen: offs_m >= offs_n, as in a square",
        launcher="dq_kernel_causal",
    )
)

wrong(
    "dq_kernel_causal",
    "A query that saw nothing has LSE -inf, and -inf minus -inf is NaN: no guard.",
    "no guard for queries that see nothing",
    "inf minus inf",
)(
    edited(
        DQ_CAUSAL_BY_THE_NOTEBOOK,
        ('    L = tl.where(L == -float("inf"), float("inf"), L)\n', ""),
        title="unseen: no guard for LSE",
    )
)

wrong(
    "dq_kernel_causal",
    "The loop's end lacks S_k - S_q, which the mask has: with more keys than queries the last are left out.",
    "loop end without S_k − S_q",
)(
    edited(
        DQ_TWO_PHASES,
        ("stop = tl.minimum(Sk, i0 + BM + off)", "stop = tl.minimum(Sk, i0 + BM)"),
        title="unseen: the last phase ends at the square's diagonal",
    )
)

wrong(
    "dq_kernel_causal",
    "P is masked after dS has been computed from it, so the mask has no effect: hidden keys add to dQ.",
    "mask forgotten",
    "leak from the future",
)(
    edited(
        DQ_BLOCK_POINTERS,
        ("        p = tl.where(vis, p, 0.0)\n", ""),
        (
            "        ds = p * (dp - delta_r[:, None])\n",
            "        ds = p * (dp - delta_r[:, None])\n        p = tl.where(vis, p, 0.0)\n",
        ),
        title="unseen: the mask comes after dS",
        launcher="dq_kernel_causal",
    )
)

wrong(
    "dq_kernel_causal",
    "Two mistakes: < for <= hides each query's last key, and delta is not subtracted.",
    "mask hides the diagonal + delta omitted",
    "mask hides the diagonal",
    "delta omitted",
)(
    edited(
        DQ_CAUSAL_BY_THE_NOTEBOOK,
        ("(cols[None, :] <= limit)", "(cols[None, :] < limit)"),
        ("dS = P * (dP - Dl)", "dS = P * dP"),
        title="unseen: < for <=, and no delta",
    )
)

wrong(
    "dq_kernel_causal",
    "Hidden scores are set to 0, not -inf: hidden keys keep the weight exp(-LSE).",
    "hidden scores set to 0",
    "leak from the future",
)(
    edited(
        DQ_BLOCK_POINTERS,
        (
            "        p = tl.exp(s - lse_r[:, None])\n        p = tl.where(vis, p, 0.0)\n",
            "        s = tl.where(vis, s, 0.0)\n        p = tl.exp(s - lse_r[:, None])\n",
        ),
        title="unseen: hidden scores are 0",
        launcher="dq_kernel_causal",
    )
)
