# label: right
# title: one pass: dQ added through a descriptor, natural exponentials

@triton.jit
def one_pass_kernel(Q, K, V, DO, LSE, DELTA, DQ, DK, DV, alpha, H, G, M, N,
                    CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    HK = H // G
    b, hk = tl.program_id(1) // HK, tl.program_id(1) % HK
    j0 = tl.program_id(0) * BN
    cols = j0 + tl.arange(0, BN)
    k = K.load([b, hk, j0, 0]).reshape(BN, BD)
    v = V.load([b, hk, j0, 0]).reshape(BN, BD)
    dk = tl.zeros((BN, BD), tl.float32)
    dv = tl.zeros((BN, BD), tl.float32)
    begin = tl.maximum(0, j0 - (N - M)) // BM * BM if CAUSAL else 0
    for g in range(0, G):
        h = hk * G + g
        for i0 in tl.range(begin, M, BM):
            rows = i0 + tl.arange(0, BM)
            at = (b * H + h) * M + rows
            q = Q.load([b, h, i0, 0]).reshape(BM, BD)
            do = DO.load([b, h, i0, 0]).reshape(BM, BD)
            lse = tl.load(LSE + at, mask=rows < M, other=float("inf"))
            lse = tl.where(lse == float("-inf"), float("inf"), lse)
            delta = tl.load(DELTA + at, mask=rows < M, other=0.0)
            s = tl.dot(k, q.T, input_precision="ieee") * alpha
            seen = (cols < N)[:, None] & (rows < M)[None, :]
            if CAUSAL:
                seen = seen & (cols[:, None] <= rows[None, :] + N - M)
            p = tl.exp(tl.where(seen, s, float("-inf")) - lse[None, :])
            dv += tl.dot(p.to(do.dtype), do, input_precision="ieee")
            ds = p * (tl.dot(v, do.T, input_precision="ieee") - delta[None, :])
            dk += tl.dot(ds.to(q.dtype), q, input_precision="ieee")
            dq = alpha * tl.dot(tl.trans(ds.to(k.dtype)), k, input_precision="ieee")
            DQ.atomic_add([b, h, i0, 0], dq.reshape(1, 1, BM, BD))
    DK.store([b, hk, j0, 0], (alpha * dk).reshape(1, 1, BN, BD))
    DV.store([b, hk, j0, 0], dv.reshape(1, 1, BN, BD))


def in_one_pass(q, k, v, o, do, lse, causal, alpha):
    B, H, M, D = q.shape
    HK, N, BD = k.shape[1], k.shape[2], max(16, triton.next_power_of_2(D))
    delta = (o.float() * do.float()).sum(-1)
    q_, k_, v_, do_ = (torch.nn.functional.pad(t, (0, BD - D)).contiguous() for t in (q, k, v, do))
    dq = torch.zeros(B, H, M, BD, dtype=torch.float32, device=q.device)
    dk, dv = torch.empty_like(k_), torch.empty_like(v_)
    BM, BN = 16, 32
    take = TensorDescriptor.from_tensor
    one_pass_kernel[(triton.cdiv(N, BN), B * HK)](
        take(q_, [1, 1, BM, BD]), take(k_, [1, 1, BN, BD]), take(v_, [1, 1, BN, BD]), take(do_, [1, 1, BM, BD]),
        lse.contiguous(), delta, take(dq, [1, 1, BM, BD]), take(dk, [1, 1, BN, BD]), take(dv, [1, 1, BN, BD]),
        alpha, H, H // HK, M, N, CAUSAL=causal, BM=BM, BN=BN, BD=BD)
    return dq[..., :D].to(q.dtype), dk[..., :D].contiguous(), dv[..., :D].contiguous()
