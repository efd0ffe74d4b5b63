"""Answers to dq_kernel, written without a look at the mistakes that lesson 07 declares."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong
from tests.lessons.lesson_07_dq.answers.unseen_kernels import DQ_BASE_2, DQ_BLOCK_POINTERS, DQ_BY_THE_NOTEBOOK

DQ_FLATTENED = """
@triton.jit
def dq_flat_kernel(
    Q, K, V, dO, LSE, DELTA, dQ, scale, M, N, D, n_blocks,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    bh = (pid // n_blocks).to(tl.int64)
    start_m = (pid % n_blocks) * BLOCK_M
    rm = start_m + tl.arange(0, BLOCK_M)
    rd = tl.arange(0, BLOCK_D)
    offs = bh * M * D + rm[:, None] * D + rd[None, :]
    mask = (rm[:, None] < M) & (rd[None, :] < D)
    q = tl.load(Q + offs, mask=mask, other=0.0).to(tl.float32)
    do = tl.load(dO + offs, mask=mask, other=0.0).to(tl.float32)
    lse = tl.load(LSE + bh * M + rm, mask=rm < M, other=float("inf"))
    delta = tl.load(DELTA + bh * M + rm, mask=rm < M, other=0.0).to(tl.float32)
    dq = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)
    for start_n in range(0, N, BLOCK_N):
        rn = start_n + tl.arange(0, BLOCK_N)
        kv_offs = bh * N * D + rn[:, None] * D + rd[None, :]
        kv_mask = (rn[:, None] < N) & (rd[None, :] < D)
        k = tl.load(K + kv_offs, mask=kv_mask, other=0.0).to(tl.float32)
        v = tl.load(V + kv_offs, mask=kv_mask, other=0.0).to(tl.float32)
        logits = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        logits = tl.where(rn[None, :] < N, logits, float("-inf"))
        probs = tl.exp(logits - lse[:, None])
        dprobs = tl.dot(do, tl.trans(v), input_precision="ieee")
        dlogits = probs * (dprobs - delta[:, None]) * scale
        dq += tl.dot(dlogits, k, input_precision="ieee")
    tl.store(dQ + offs, dq.to(dQ.dtype.element_ty), mask=mask)


def dq_kernel(q, k, v, o, do, lse, alpha):
    B, H, M, D = q.shape
    N = k.shape[2]
    q, k, v, do, lse = [t.contiguous() for t in (q, k, v, do, lse)]
    dq = torch.empty_like(q)
    delta = (o.float() * do.float()).sum(-1)
    n_blocks = triton.cdiv(M, 32)
    dq_flat_kernel[(B * H * n_blocks,)](
        q, k, v, do, lse, delta, dq, alpha, M, N, D, n_blocks,
        BLOCK_M=32, BLOCK_N=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dq
"""

DQ_ATOMIC = """
@triton.jit
def dq_from_keys(
    Q, K, V, dO, Lse, Delta, dQ, scale, H, Sq, Sk, D,
    qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, gb, gh, gm, gd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    # each program keeps one tile of K and V, goes over all queries, and adds to dQ as in Algorithm 2
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    d = tl.arange(0, BD)
    n_ok = (n < Sk)[:, None] & (d < D)[None, :]
    k = tl.load(K + b * kb + h * kh + n[:, None] * kn + d[None, :] * kd, mask=n_ok, other=0.0)
    v = tl.load(V + b * vb + h * vh + n[:, None] * vn + d[None, :] * vd, mask=n_ok, other=0.0)
    for m0 in range(0, Sq, BM):
        m = m0 + tl.arange(0, BM)
        m_ok = (m < Sq)[:, None] & (d < D)[None, :]
        q = tl.load(Q + b * qb + h * qh + m[:, None] * qm + d[None, :] * qd, mask=m_ok, other=0.0)
        g = tl.load(dO + b * gb + h * gh + m[:, None] * gm + d[None, :] * gd, mask=m_ok, other=0.0)
        lse = tl.load(Lse + bh * Sq + m, mask=m < Sq, other=0.0)
        delta = tl.load(Delta + bh * Sq + m, mask=m < Sq, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        p = tl.exp(tl.where((n < Sk)[None, :], s, float("-inf")) - lse[:, None])
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        part = tl.dot(ds, k.to(tl.float32), input_precision="ieee")
        tl.atomic_add(dQ + (bh * Sq + m[:, None]) * D + d[None, :], part, mask=m_ok)


def dq_kernel(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    Sk = k.shape[2]
    delta = torch.einsum("bhsd,bhsd->bhs", o.float(), do.float()).contiguous()
    dq = torch.zeros((B, H, Sq, D), dtype=torch.float32, device=q.device)
    dq_from_keys[(triton.cdiv(Sk, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, Sq, Sk, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BM=16, BN=32, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq.to(q.dtype)
"""

right("dq_kernel", "unseen: a program per tile of keys, atomic additions to dQ in fp32")(written(DQ_ATOMIC))

wrong(
    "dq_kernel",
    "The exponential is to base 2 and LSE is natural: it must be multiplied by log2(e) first.",
    "LSE read as base 2",
)(
    edited(
        DQ_BASE_2,
        ("M = lse.contiguous() * RCP_LN2", "M = lse.contiguous()"),
        title="unseen: exp2 with a natural LSE",
        launcher="dq_kernel",
    )
)

wrong(
    "dq_kernel",
    "delta is summed from products in half precision and rounded to it; dP - delta loses what matters.",
    "precision",
)(
    edited(
        DQ_FLATTENED,
        ("delta = (o.float() * do.float()).sum(-1)", "delta = (o * do).sum(-1)"),
        title="unseen: delta in half precision",
    )
)

wrong(
    "dq_kernel",
    "delta is subtracted after the product with P: dS is P (dP - delta), not P dP - delta.",
    "delta subtracted after P",
)(
    edited(
        DQ_BY_THE_NOTEBOOK,
        ("dS = P * (dP - Dl)", "dS = P * dP - Dl"),
        title="unseen: P dP - delta",
    )
)

wrong(
    "dq_kernel",
    "Two mistakes: delta is added instead of subtracted, and alpha is missing from dQ.",
    "delta added + alpha is missing from dQ",
    "delta added",
    "alpha is missing from dQ",
)(
    edited(
        DQ_BY_THE_NOTEBOOK,
        ("dS = P * (dP - Dl)", "dS = P * (dP + Dl)"),
        ("    grad = grad * alpha\n", ""),
        title="unseen: plus delta, and no alpha",
    )
)

wrong(
    "dq_kernel",
    "The block pointers of K and V have the length of Q: keys from S_q on are taken as zeros, and where "
    "S_q is larger, rows beyond S_k are read.",
    "out_of_bounds",
    "load of K without a mask",
    "loop over S_q",
)(
    edited(
        DQ_BLOCK_POINTERS,
        ("bi * kb + hi * kh, (n_k, dim)", "bi * kb + hi * kh, (n_q, dim)"),
        ("bi * vb + hi * vh, (n_k, dim)", "bi * vb + hi * vh, (n_q, dim)"),
        title="unseen: block pointers of K and V with Q's length",
        launcher="dq_kernel",
    )
)

wrong(
    "dq_kernel",
    "The programs add to a buffer from torch.empty, which holds whatever was there before.",
    "uninitialised memory",
    "changes from run to run",
)(
    edited(
        DQ_ATOMIC,
        ("dq = torch.zeros((B, H, Sq, D)", "dq = torch.empty((B, H, Sq, D)"),
        title="unseen: atomic additions to torch.empty",
    )
)

wrong(
    "dq_kernel",
    "The kernel expects a grid of (blocks, H, B) and gets (blocks, B · H): b is always 0, h counts all "
    "heads. Only where a batch entry's heads lie behind those of the one before is that the same place.",
    "never read",
    "some heads",
)(
    edited(
        DQ_BY_THE_NOTEBOOK,
        ("    b = (tl.program_id(1) // H).to(tl.int64)\n", "    b = tl.program_id(2).to(tl.int64)\n"),
        ("    h = (tl.program_id(1) % H).to(tl.int64)\n", "    h = tl.program_id(1).to(tl.int64)\n"),
        title="three axes in the kernel, two in the grid",
    )
)
