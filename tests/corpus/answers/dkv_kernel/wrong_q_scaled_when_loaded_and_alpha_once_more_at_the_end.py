# label: wrong
# title: q scaled when loaded, and alpha once more at the end
# says: `q = (q * alpha)` right after the load puts alpha into S, but the scaled q is also the factor in dS^T
#   q, so dk carries alpha already; `dk * alpha` at the end applies it twice. dV is right, dK wrong for every
#   alpha other than 1.
# names: alpha applied twice to dK

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def _bwd_dkdv(
    Q, K, V, DO, L, Delta, DK, DV, sm_scale, H, N_Q, N_K, D,
    sqz, sqh, sqm, sqd, skz, skh, skn, skd, svz, svh, svn, svd,
    soz, soh, som, sod, sdkz, sdkh, sdkn, sdkd, sdvz, sdvh, sdvn, sdvd,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
):
    hz = tl.program_id(1).to(tl.int64)
    z = hz // H
    h = hz % H
    offs_n = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD)
    md = offs_d[None, :] < D
    mn = (offs_n[:, None] < N_K) & md
    k = tl.load(K + z * skz + h * skh + offs_n[:, None] * skn + offs_d[None, :] * skd, mask=mn, other=0.0)
    v = tl.load(V + z * svz + h * svh + offs_n[:, None] * svn + offs_d[None, :] * svd, mask=mn, other=0.0)
    dk = tl.zeros([BLOCK_N, HEAD], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, HEAD], dtype=tl.float32)
    for start in range(0, N_Q, BLOCK_M):
        offs_m = start + tl.arange(0, BLOCK_M).to(tl.int64)
        mm = (offs_m[:, None] < N_Q) & md
        q = tl.load(Q + z * sqz + h * sqh + offs_m[:, None] * sqm + offs_d[None, :] * sqd, mask=mm, other=0.0)
        q = (q * sm_scale).to(Q.dtype.element_ty)
        do = tl.load(
            DO + z * soz + h * soh + offs_m[:, None] * som + offs_d[None, :] * sod, mask=mm, other=0.0
        )
        m = tl.load(L + hz * N_Q + offs_m, mask=offs_m < N_Q, other=float("inf"))
        Di = tl.load(Delta + hz * N_Q + offs_m, mask=offs_m < N_Q, other=0.0)
        p = tl.exp(tl.dot(q, tl.trans(k), input_precision="ieee") - m[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - Di[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(
        DK + z * sdkz + h * sdkh + offs_n[:, None] * sdkn + offs_d[None, :] * sdkd,
        (dk * sm_scale).to(DK.dtype.element_ty), mask=mn
    )
    tl.store(
        DV + z * sdvz + h * sdvh + offs_n[:, None] * sdvn + offs_d[None, :] * sdvd,
        dv.to(DV.dtype.element_ty), mask=mn
    )

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLK = block or 32
    _bwd_dkdv[(triton.cdiv(S_k, BLK), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_M=BLK, BLOCK_N=BLK, HEAD=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
