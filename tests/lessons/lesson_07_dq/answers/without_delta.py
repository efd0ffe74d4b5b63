"""Lesson 07's stretch: dQ in one scan that knows neither O nor delta, right in other styles and wrong in many."""

# ruff: noqa: E501

from __future__ import annotations

from tests.corpus import edited, right, written, wrong

ONE_SCAN = """
@triton.jit
def grad_q(
    Q, K, V, dO, L, dQ, alpha, H, S_q, S_k, D,
    q0, q1, q2, q3, k0, k1, k2, k3, v0, v1, v2, v3, o0, o1, o2, o3, g0, g1, g2, g3,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    b, h = head // H, head % H
    m = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN).to(tl.int64)
    d = tl.arange(0, BD)
    mine = (m[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(Q + b * q0 + h * q1 + m[:, None] * q2 + d[None, :] * q3, mask=mine, other=0.0)
    do = tl.load(dO + b * o0 + h * o1 + m[:, None] * o2 + d[None, :] * o3, mask=mine, other=0.0)
    lse = tl.load(L + head * S_q + m, mask=m < S_q, other=0.0)
    a = tl.zeros((BM, BD), tl.float32)
    c = tl.zeros((BM, BD), tl.float32)
    delta = tl.zeros((BM,), tl.float32)
    for start in range(0, S_k, BN):
        at = start + n
        theirs = (at[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(K + b * k0 + h * k1 + at[:, None] * k2 + d[None, :] * k3, mask=theirs, other=0.0)
        v = tl.load(V + b * v0 + h * v1 + at[:, None] * v2 + d[None, :] * v3, mask=theirs, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(at[None, :] < S_k, s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        w = p * tl.dot(do, tl.trans(v), input_precision="ieee")
        a += tl.dot(w.to(k.dtype), k, input_precision="ieee")
        c += tl.dot(p.to(k.dtype), k, input_precision="ieee")
        delta += tl.sum(w, axis=1)
    g = alpha * (a - delta[:, None] * c)
    tl.store(dQ + b * g0 + h * g1 + m[:, None] * g2 + d[None, :] * g3, g.to(dQ.dtype.element_ty), mask=mine)


def dq_without_delta(q, k, v, do, lse, alpha):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype)
    BD = max(16, triton.next_power_of_2(D))
    grad_q[(triton.cdiv(S_q, 16), B * H)](
        q, k, v, do, lse.contiguous(), dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(), BM=16, BN=32, BD=BD,
    )
    return dq
"""
SUMS = """        a += tl.dot(w.to(k.dtype), k, input_precision="ieee")
        c += tl.dot(p.to(k.dtype), k, input_precision="ieee")
        delta += tl.sum(w, axis=1)
"""
END = "g = alpha * (a - delta[:, None] * c)"

right("dq_without_delta", "blocks of 16 queries and 32 keys, one-letter names")(written(ONE_SCAN))
right("dq_without_delta", "what meets K stays in fp32, and K comes to it")(
    edited(
        ONE_SCAN,
        (
            SUMS,
            """        k32 = k.to(tl.float32)
        a += tl.dot(w, k32, input_precision="ieee")
        c += tl.dot(p, k32, input_precision="ieee")
        delta += tl.sum(w, axis=1)
""",
        ),
    )
)
right("dq_without_delta", "keys from the last tile to the first, powers of two")(
    edited(
        ONE_SCAN,
        ("for start in range(0, S_k, BN):", "for turn in range(0, tl.cdiv(S_k, BN)):"),
        ("at = start + n", "at = (tl.cdiv(S_k, BN) - 1 - turn) * BN + n"),
        ("p = tl.exp(s - lse[:, None])", "p = tl.exp2((s - lse[:, None]) * 1.4426950408889634)"),
    )
)


def broken(says: str, names: str, title: str, *edits: tuple[str, str]) -> None:
    """A wrong answer made of the right one."""
    wrong("dq_without_delta", says, *names.split("|"), title=title)(edited(ONE_SCAN, *edits))


broken("What delta takes away is missing.", "delta left out", "a alone", (END, "g = alpha * a"))
broken(
    "Delta is complete only after the last tile.",
    "delta so far",
    "delta as far as it has come",
    (
        SUMS,
        '        delta += tl.sum(w, axis=1)\n        a += tl.dot((w - p * delta[:, None]).to(k.dtype), k, input_precision="ieee")\n',
    ),
    (END, "g = alpha * a"),
)
broken(
    "Each tile has a delta of its own.",
    "delta of the tile alone",
    "a delta for each tile",
    (
        SUMS,
        '        a += tl.dot((w - p * tl.sum(w, axis=1)[:, None]).to(k.dtype), k, input_precision="ieee")\n',
    ),
    (END, "g = alpha * a"),
)
broken("Σ P K is subtracted without delta.", "delta not multiplied in", "a - c", (END, "g = alpha * (a - c)"))
broken(
    "The scale is missing.",
    "alpha is missing from dQ",
    "no alpha at the end",
    (END, END.replace("alpha * ", "")),
)
broken(
    "The second sum forgets P.",
    "keys summed without P",
    "a plain sum of keys",
    (
        'c += tl.dot(p.to(k.dtype), k, input_precision="ieee")',
        "c += tl.sum(k.to(tl.float32), axis=0)[None, :]",
    ),
)
broken("A tile replaces the sum.", "only the last tile", "= for +=", (SUMS, SUMS.replace("+=", "=")))
broken(
    "The last tile is left out where it is not full.",
    "the last, incomplete block of keys is left out",
    "whole tiles only",
    ("for start in range(0, S_k, BN):", "for start in range(0, S_k // BN * BN, BN):"),
)
broken(
    "The keys are scanned twice, once for delta.",
    "review",
    "delta by a scan of its own",
    (
        "    for start in range(0, S_k, BN):",
        """    for start in range(0, S_k, BN):
        at = start + n
        theirs = (at[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(K + b * k0 + h * k1 + at[:, None] * k2 + d[None, :] * k3, mask=theirs, other=0.0)
        v = tl.load(V + b * v0 + h * v1 + at[:, None] * v2 + d[None, :] * v3, mask=theirs, other=0.0)
        s = tl.where(at[None, :] < S_k, alpha * tl.dot(q, tl.trans(k), input_precision="ieee"), float("-inf"))
        delta += tl.sum(tl.exp(s - lse[:, None]) * tl.dot(do, tl.trans(v), input_precision="ieee"), axis=1)
    for start in range(0, S_k, BN):""",
    ),
    (SUMS, '        a += tl.dot((w - p * delta[:, None]).to(k.dtype), k, input_precision="ieee")\n'),
    (END, "g = alpha * a"),
)
