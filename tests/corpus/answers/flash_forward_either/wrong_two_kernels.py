# label: wrong
# title: two kernels
# says: Two kernels, and the flag chooses one.
# names: grid axis too short; review

@triton.jit
def causal_kernel(
    Q, K, V, O, L, scale, H, S_q, S_k, D,
    q0, q1, q2, q3, k0, k1, k2, k3, v0, v1, v2, v3, o0, o1, o2, o3,
    CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64)
    b, h = head // H, head % H
    m = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN).to(tl.int64)
    d = tl.arange(0, BD)
    mine = (m[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(Q + b * q0 + h * q1 + m[:, None] * q2 + d[None, :] * q3, mask=mine, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    last = S_k
    if CAUSAL:
        last = tl.minimum(S_k, (tl.program_id(0) + 1) * BM + S_k - S_q)
    for start in range(0, last, BN):
        at = start + n
        theirs = (at[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(K + b * k0 + h * k1 + at[:, None] * k2 + d[None, :] * k3, mask=theirs, other=0.0)
        v = tl.load(V + b * v0 + h * v1 + at[:, None] * v2 + d[None, :] * v3, mask=theirs, other=0.0)
        seen = at[None, :] < S_k
        if CAUSAL:
            seen = seen & (at[None, :] <= m[:, None] + S_k - S_q)
        s = tl.where(seen, scale * tl.dot(q, tl.trans(k), input_precision="ieee"), float("-inf"))
        new = tl.maximum(top, tl.max(s, axis=1))
        base = tl.where(new == float("-inf"), 0.0, new)
        p = tl.exp(s - base[:, None])
        keep = tl.exp(top - base)
        total = total * keep + tl.sum(p, axis=1)
        acc = acc * keep[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = new
    out = acc / tl.where(total == 0.0, 1.0, total)[:, None]
    tl.store(O + b * o0 + h * o1 + m[:, None] * o2 + d[None, :] * o3, out.to(O.dtype.element_ty), mask=mine)
    tl.store(L + head * S_q + m, top + tl.log(total), mask=m < S_q)



# INCLUDE: _attention_kernel


def flash_forward_either(q, k, v, alpha, causal):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype)
    lse = torch.empty((B, H, S_q), dtype=torch.float32)
    BD = max(16, triton.next_power_of_2(D))
    (causal_kernel if causal else attention_kernel)[(triton.cdiv(S_q, 16), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        CAUSAL=causal, BM=16, BN=16, BD=BD,
    )
    return o, lse
