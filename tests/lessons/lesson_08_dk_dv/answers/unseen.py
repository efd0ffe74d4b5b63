"""Answers to dkv_kernel, written without a look at the mistakes that lesson 08 declares."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong
from tests.lessons.lesson_08_dk_dv.answers.unseen_kernels import DKV_BY_THE_NOTEBOOK, DKV_TRANSPOSED

DKV_FLATTENED = """
@triton.jit
def kv_grads(
    query, key, value, grad_out, lse, delta, grad_key, grad_value, scale, nq, nk, dim, key_blocks,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    head = (tl.program_id(0) // key_blocks).to(tl.int64)
    c = (tl.program_id(0) % key_blocks) * BK + tl.arange(0, BK)
    e = tl.arange(0, BD)
    c_ok = (c[:, None] < nk) & (e[None, :] < dim)
    c_at = head * nk * dim + c[:, None] * dim + e[None, :]
    k = tl.load(key + c_at, mask=c_ok, other=0.0).to(tl.float32)
    v = tl.load(value + c_at, mask=c_ok, other=0.0).to(tl.float32)
    sum_k = tl.zeros([BK, BD], tl.float32)
    sum_v = tl.zeros([BK, BD], tl.float32)
    lanes = tl.arange(0, BQ)
    for i0 in range(0, nq, BQ):
        r = i0 + lanes
        r_ok = (r[:, None] < nq) & (e[None, :] < dim)
        r_at = head * nq * dim + r[:, None] * dim + e[None, :]
        q = tl.load(query + r_at, mask=r_ok, other=0.0).to(tl.float32)
        g = tl.load(grad_out + r_at, mask=r_ok, other=0.0).to(tl.float32)
        row_lse = tl.load(lse + head * nq + r, mask=r < nq, other=float("inf"))
        row_delta = tl.load(delta + head * nq + r, mask=r < nq, other=0.0)
        prob = tl.exp(tl.dot(q, tl.trans(k), input_precision="ieee") * scale - row_lse[:, None])
        sum_v += tl.dot(tl.trans(prob), g, input_precision="ieee")
        d_score = prob * (tl.dot(g, tl.trans(v), input_precision="ieee") - row_delta[:, None])
        sum_k += tl.dot(tl.trans(d_score), q * scale, input_precision="ieee")
    tl.store(grad_key + c_at, sum_k.to(grad_key.dtype.element_ty), mask=c_ok)
    tl.store(grad_value + c_at, sum_v.to(grad_value.dtype.element_ty), mask=c_ok)


def dkv_kernel(q, k, v, o, do, lse, alpha):
    B, H, nq, dim = q.shape
    nk = k.shape[2]
    delta = (o.float() * do.float()).sum(-1)
    q, k, v, do, lse = (x.contiguous() for x in (q, k, v, do, lse))
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    key_blocks = triton.cdiv(nk, 16)
    kv_grads[(B * H * key_blocks,)](
        q, k, v, do, lse, delta, dk, dv, alpha, nq, nk, dim, key_blocks,
        BQ=32, BK=16, BD=max(16, triton.next_power_of_2(dim)),
    )
    return dk, dv
"""

DKV_ONE_TILE = """
@triton.jit
def one_tile_kernel(
    Q, K, V, G, Lse, Delta, DK, DV, scale, H, Sq, Sk, D,
    qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, gb, gh, gm, gd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    # a program for each tile of S; what it finds is added to the rows of dK and dV
    j = tl.program_id(0) * BN + tl.arange(0, BN)
    i = tl.program_id(1) * BM + tl.arange(0, BM)
    bh = tl.program_id(2).to(tl.int64)
    b, h = bh // H, bh % H
    d = tl.arange(0, BD)
    j_ok = (j[:, None] < Sk) & (d[None, :] < D)
    i_ok = (i[:, None] < Sq) & (d[None, :] < D)
    k = tl.load(K + b * kb + h * kh + j[:, None] * kn + d[None, :] * kd, mask=j_ok, other=0.0)
    v = tl.load(V + b * vb + h * vh + j[:, None] * vn + d[None, :] * vd, mask=j_ok, other=0.0)
    q = tl.load(Q + b * qb + h * qh + i[:, None] * qm + d[None, :] * qd, mask=i_ok, other=0.0)
    g = tl.load(G + b * gb + h * gh + i[:, None] * gm + d[None, :] * gd, mask=i_ok, other=0.0)
    lse = tl.load(Lse + bh * Sq + i, mask=i < Sq, other=float("inf"))
    delta = tl.load(Delta + bh * Sq + i, mask=i < Sq, other=0.0)
    pt = tl.exp(tl.dot(k, tl.trans(q), input_precision="ieee") * scale - lse[None, :])
    dst = pt * (tl.dot(v, tl.trans(g), input_precision="ieee") - delta[None, :])
    add_v = tl.dot(pt, g.to(tl.float32), input_precision="ieee")
    add_k = tl.dot(dst, q.to(tl.float32), input_precision="ieee") * scale
    at = (bh * Sk + j[:, None]) * D + d[None, :]
    tl.atomic_add(DV + at, add_v, mask=j_ok)
    tl.atomic_add(DK + at, add_k, mask=j_ok)


def dkv_kernel(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    Sk = k.shape[2]
    delta = (o.double() * do.double()).sum(-1).float()
    dk = torch.zeros((B, H, Sk, D), dtype=torch.float32, device=q.device)
    dv = torch.zeros((B, H, Sk, D), dtype=torch.float32, device=q.device)
    one_tile_kernel[(triton.cdiv(Sk, 32), triton.cdiv(Sq, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, Sq, Sk, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BM=32, BN=32, BD=max(16, triton.next_power_of_2(D)),
    )
    return dk.to(k.dtype), dv.to(v.dtype)
"""

right("dkv_kernel", "unseen: a program per tile of S, atomic additions to dK and dV in fp32")(
    written(DKV_ONE_TILE)
)

wrong(
    "dkv_kernel",
    "Neither P nor dS is transposed: dV is P dO and dK is dS Q; that runs since the tiles are square.",
    "dS not transposed + P not transposed",
    "dS not transposed",
    "P not transposed",
)(
    edited(
        DKV_BY_THE_NOTEBOOK,
        ("tl.dot(tl.trans(pp).to(oo.dtype),", "tl.dot(pp.to(oo.dtype),"),
        ("tl.dot(tl.trans(ds).to(qq.dtype),", "tl.dot(ds.to(qq.dtype),"),
        title="unseen: no transposes",
    )
)

wrong(
    "dkv_kernel",
    "dK is multiplied by ln 2 as well: that factor belongs where K was scaled by log2(e), and dS was not.",
    "constant factor",
)(
    edited(
        DKV_TRANSPOSED,
        ("    dk *= sm_scale\n", "    dk *= sm_scale * 0.6931471824645996\n"),
        title="unseen: dk times ln 2",
        launcher="dkv_kernel",
    )
)

wrong(
    "dkv_kernel",
    "Row numbers are clamped instead of masked: the last query is counted again for each padded row.",
    "padded queries repeat the last one",
)(
    edited(
        DKV_FLATTENED,
        ("        r = i0 + lanes\n", "        r = tl.minimum(i0 + lanes, nq - 1)\n"),
        title="unseen: rows clamped to the last query",
    )
)

wrong(
    "dkv_kernel",
    "The programs load, add and store without an atomic: those of one block of keys overwrite each other.",
    "race",
)(
    edited(
        DKV_ONE_TILE,
        (
            "    tl.atomic_add(DV + at, add_v, mask=j_ok)\n    tl.atomic_add(DK + at, add_k, mask=j_ok)\n",
            "    add_v += tl.load(DV + at, mask=j_ok, other=0.0)\n"
            "    add_k += tl.load(DK + at, mask=j_ok, other=0.0)\n"
            "    tl.store(DV + at, add_v, mask=j_ok)\n    tl.store(DK + at, add_k, mask=j_ok)\n",
        ),
        title="unseen: load, add, store",
    )
)

wrong(
    "dkv_kernel",
    "Two mistakes: dV and dK are returned in the wrong order, and dK lacks alpha.",
    "dK and dV exchanged + alpha is missing from dK",
    "dK and dV exchanged",
    "alpha is missing from dK",
    "outputs exchanged",
)(
    edited(
        DKV_BY_THE_NOTEBOOK,
        ("    gk = gk * alpha\n", ""),
        ("    return dk, dv\n", "    return dv, dk\n"),
        title="unseen: dv first, and no alpha",
    )
)

wrong(
    "dkv_kernel",
    "The grid counts blocks of queries, and programs own keys: with more keys than queries the last are "
    "never written.",
    "never written",
)(
    edited(
        DKV_FLATTENED,
        ("key_blocks = triton.cdiv(nk, 16)", "key_blocks = triton.cdiv(nq, 16)"),
        title="unseen: a grid over the queries",
    )
)

wrong(
    "dkv_kernel",
    "The kernel expects a grid of (blocks, H, B) and gets (blocks, B · H): b is always 0, h counts all "
    "heads. Only where a batch entry's heads lie behind those of the one before is that the same place.",
    "never read",
    "some heads",
)(
    edited(
        DKV_BY_THE_NOTEBOOK,
        ("    b = (tl.program_id(1) // H).to(tl.int64)\n", "    b = tl.program_id(2).to(tl.int64)\n"),
        ("    h = (tl.program_id(1) % H).to(tl.int64)\n", "    h = tl.program_id(1).to(tl.int64)\n"),
        title="three axes in the kernel, two in the grid",
    )
)
