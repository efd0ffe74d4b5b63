# label: right
# title: nothing tuned: one loop, natural exponentials, wide tiles of offsets

@triton.jit
def slow_kernel(Q, K, V, O, L, alpha, H, G, M, N, D, sq, sk, sv, so,
                CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    b, h = tl.program_id(1).to(tl.int64) // H, tl.program_id(1).to(tl.int64) % H
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    d = tl.arange(0, BD)
    mine = (i < M)[:, None] & (d < D)[None, :]
    at = b * sq[0] + h * sq[1] + i[:, None] * sq[2] + d[None, :] * sq[3]
    q = tl.load(Q + at, mask=mine, other=0.0)
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    end = N
    if CAUSAL:
        end = tl.minimum(N, (tl.program_id(0) + 1) * BM + N - M)
    for j0 in range(0, end, BN):
        j = j0 + tl.arange(0, BN).to(tl.int64)
        ok = (j < N)[:, None] & (d < D)[None, :]
        k = tl.load(K + b * sk[0] + h // G * sk[1] + j[:, None] * sk[2] + d[None, :] * sk[3], mask=ok, other=0.0)
        v = tl.load(V + b * sv[0] + h // G * sv[1] + j[:, None] * sv[2] + d[None, :] * sv[3], mask=ok, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        hidden = (j >= N)[None, :]
        if CAUSAL:
            hidden = hidden | (j[None, :] > i[:, None] + N - M)
        s = tl.where(hidden, float("-inf"), s)
        top = tl.maximum(m, tl.max(s, 1))
        shift = tl.where(top == float("-inf"), 0.0, top)
        f, p = tl.exp(m - shift), tl.exp(s - shift[:, None])
        l = l * f + tl.sum(p, 1)
        acc = acc * f[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = top
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    at = b * so[0] + h * so[1] + i[:, None] * so[2] + d[None, :] * so[3]
    tl.store(O + at, o.to(O.dtype.element_ty), mask=mine)
    tl.store(L + (b * H + h) * M + i, m + tl.log(l), mask=i < M)


def untuned(q, k, v, causal, alpha):
    B, H, M, D = q.shape
    o = torch.empty(B, H, M, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, M, dtype=torch.float32, device=q.device)
    slow_kernel[(triton.cdiv(M, 16), B * H)](
        q, k, v, o, lse, alpha, H, H // k.shape[1], M, k.shape[2], D, q.stride(), k.stride(), v.stride(), o.stride(),
        CAUSAL=causal, BM=16, BN=32, BD=max(16, triton.next_power_of_2(D)))
    return o, lse
