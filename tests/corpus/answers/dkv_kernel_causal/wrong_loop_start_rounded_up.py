# label: wrong
# title: loop start rounded up
# says: `lo = tl.cdiv(first, BLOCK_M) * BLOCK_M` rounds up: when pid*B - (S_k - S_q) is no multiple of the
#   tile, the tile crossed by the diagonal is skipped. Right for S_q = S_k, wrong for S_q 40, S_k 70; it has
#   to be rounded down.
# names: the first block that sees the keys is left out

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def causal_dkv(
    Q, K, V, DO, LSE, DELTA, DK, DV, scale, H, S_q, S_k, D,
    q0, q1, q2, q3, k0, k1, k2, k3, v0, v1, v2, v3, o0, o1, o2, o3, a0, a1, a2, a3, c0, c1, c2, c3,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    b = bh // H
    h = bh % H
    n = pid.to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    d = tl.arange(0, BLOCK_D)
    mask_n = (n[:, None] < S_k) & (d[None, :] < D)
    k = tl.load(K + b * k0 + h * k1 + n[:, None] * k2 + d[None, :] * k3, mask=mask_n, other=0.0)
    v = tl.load(V + b * v0 + h * v1 + n[:, None] * v2 + d[None, :] * v3, mask=mask_n, other=0.0)
    dk = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_N, BLOCK_D), tl.float32)
    first = tl.maximum(pid * BLOCK_N - (S_k - S_q), 0)
    lo = tl.cdiv(first, BLOCK_M) * BLOCK_M
    for start in range(lo, S_q, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M).to(tl.int64)
        mask_m = (m[:, None] < S_q) & (d[None, :] < D)
        q = tl.load(Q + b * q0 + h * q1 + m[:, None] * q2 + d[None, :] * q3, mask=mask_m, other=0.0)
        do = tl.load(DO + b * o0 + h * o1 + m[:, None] * o2 + d[None, :] * o3, mask=mask_m, other=0.0)
        lse = tl.load(LSE + bh * S_q + m, mask=m < S_q, other=float("inf"))
        lse = tl.where(lse == float("-inf"), float("inf"), lse)
        delta = tl.load(DELTA + bh * S_q + m, mask=m < S_q, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(m[:, None] + (S_k - S_q) >= n[None, :], s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(
        DK + b * a0 + h * a1 + n[:, None] * a2 + d[None, :] * a3, (scale * dk).to(DK.dtype.element_ty),
        mask=mask_n
    )
    tl.store(
        DV + b * c0 + h * c1 + n[:, None] * c2 + d[None, :] * c3, dv.to(DV.dtype.element_ty), mask=mask_n
    )

def dkv_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    T = block or 32
    causal_dkv[(triton.cdiv(S_k, T), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_M=T, BLOCK_N=T, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
