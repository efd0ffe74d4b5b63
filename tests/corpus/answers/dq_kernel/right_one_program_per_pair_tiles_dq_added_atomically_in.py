# label: right
# title: one program per pair of tiles, dQ added atomically in fp32, all tiles transposed, 32 × 16

import torch.nn.functional as F


@triton.jit
def dq_atomic_kernel(Q, K, V, DO, LSE, DELTA, DQ, scale, M, N, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # a program per (tile of keys, tile of queries): each adds its product to dQ; P transposed, keys as rows
    n0, m0, bh = tl.program_id(2) * BN, tl.program_id(1) * BM, tl.program_id(0)
    j, i, d = n0 + tl.arange(0, BN), m0 + tl.arange(0, BM), tl.arange(0, BD)
    kt = tl.load(K + (bh * N + j)[:, None] * BD + d[None, :], mask=(j < N)[:, None], other=0.0)
    vt = tl.load(V + (bh * N + j)[:, None] * BD + d[None, :], mask=(j < N)[:, None], other=0.0)
    qt = tl.load(Q + (bh * M + i)[None, :] * BD + d[:, None], mask=(i < M)[None, :], other=0.0)  # (BD, BM)
    dot = tl.load(DO + (bh * M + i)[None, :] * BD + d[:, None], mask=(i < M)[None, :], other=0.0)
    lse = tl.load(LSE + bh * M + i, mask=i < M, other=0.0)
    delta = tl.load(DELTA + bh * M + i, mask=i < M, other=0.0)
    pT = tl.exp(tl.dot(kt, qt, input_precision="ieee") * scale - lse[None, :])
    pT = tl.where((j < N)[:, None] & (i < M)[None, :], pT, 0.0)
    dsT = pT * (tl.dot(vt, dot, input_precision="ieee") - delta[None, :])
    dqT = tl.dot(tl.trans(kt), dsT.to(kt.dtype), input_precision="ieee") * scale
    tl.atomic_add(DQ + (bh * M + i)[None, :] * BD + d[:, None], dqT, mask=(i < M)[None, :])


def dq_by_atomics(q, k, v, o, do, lse, alpha):
    B, H, M, D = q.shape
    N, BD = k.shape[2], max(16, triton.next_power_of_2(D))
    delta = (o.float() * do.float()).sum(-1)
    q_, k_, v_, do_ = (F.pad(t, (0, BD - D)).contiguous() for t in (q, k, v, do))
    dq = torch.zeros(B, H, M, BD, dtype=torch.float32, device=q.device)
    grid = (B * H, triton.cdiv(M, 32), triton.cdiv(N, 16))
    dq_atomic_kernel[grid](q_, k_, v_, do_, lse.contiguous(), delta, dq, alpha, M, N, BM=32, BN=16, BD=BD)
    return dq[..., :D].to(q.dtype)
