# label: right
# title: blocks of 16 queries and 32 keys, one-letter names

@triton.jit
def grad_q(
    Q, K, V, dO, L, dQ, alpha, H, S_q, S_k, D,
    q0, q1, q2, q3, k0, k1, k2, k3, v0, v1, v2, v3, o0, o1, o2, o3, g0, g1, g2, g3,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    b, h = head // H, head % H
    m = tl.program_id(1).to(tl.int64) * BM + tl.arange(0, BM)
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
    grad_q[(B * H, triton.cdiv(S_q, 16))](
        q, k, v, do, lse.contiguous(), dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(), BM=16, BN=32, BD=BD,
    )
    return dq
