# part: a text that answers include

import torch.nn.functional as F


@triton.jit
def pair_kernel(Q, K, V, G, L, Dl, DK, DV, a, M, N, BM: tl.constexpr, BN: tl.constexpr, W: tl.constexpr, CAUSAL: tl.constexpr):
    # a program per pair of tiles; what it finds is added atomically
    bh, i0, j0 = tl.program_id(0), tl.program_id(2) * BM, tl.program_id(1) * BN
    if not CAUSAL or j0 <= i0 + BM - 1 + N - M:
        i, j, c = i0 + tl.arange(0, BM), j0 + tl.arange(0, BN), tl.arange(0, W)
        ok = (i < M)[:, None]
        q = tl.load(Q + (bh * M + i)[:, None] * W + c[None, :], mask=ok, other=0.0)
        g = tl.load(G + (bh * M + i)[:, None] * W + c[None, :], mask=ok, other=0.0)
        k = tl.load(K + (bh * N + j)[:, None] * W + c[None, :], mask=(j < N)[:, None], other=0.0)
        v = tl.load(V + (bh * N + j)[:, None] * W + c[None, :], mask=(j < N)[:, None], other=0.0)
        s = tl.dot(q * a, tl.trans(k), input_precision="ieee")
        lse = tl.load(L + bh * M + i, mask=i < M, other=float("inf"))
        see = (i < M)[:, None] & (j < N)[None, :]
        if CAUSAL:
            see = see & (j[None, :] - i[:, None] <= N - M)
        s = tl.where(see, s - lse[:, None], -1.0e30)
        p = tl.exp(s)
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - tl.load(Dl + bh * M + i, mask=i < M, other=0.0)[:, None])
        out = (bh * N + j)[:, None] * W + c[None, :]
        tl.atomic_add(DV + out, tl.dot(tl.trans(p), g, input_precision="ieee"), mask=(j < N)[:, None])
        tl.atomic_add(DK + out, a * tl.dot(tl.trans(ds), q, input_precision="ieee"), mask=(j < N)[:, None])


def _launch_pairs(q, k, v, o, do, lse, alpha, causal, BM=16, BN=16):
    B, H, M, D = q.shape
    N, W = k.shape[2], max(16, triton.next_power_of_2(D))
    delta = torch.sum(o.float() * do.float(), -1)
    wide = [F.pad(t.float(), (0, W - D)).contiguous() for t in (q, k, v, do)]
    dk, dv = torch.zeros(B, H, N, W), torch.zeros(B, H, N, W)
    grid = (B * H, triton.cdiv(N, BN), triton.cdiv(M, BM))
    pair_kernel[grid](*wide, lse.contiguous(), delta, dk, dv, alpha, M, N, BM=BM, BN=BN, W=W, CAUSAL=causal)
    return dk[..., :D].to(k.dtype), dv[..., :D].to(v.dtype)
