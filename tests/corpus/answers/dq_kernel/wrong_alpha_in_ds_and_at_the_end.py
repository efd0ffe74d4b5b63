# label: wrong
# title: alpha in ds and at the end
# says: `ds = alpha * p * (dp - delta)` and then `dq * alpha` in the store: alpha is in dQ twice. Visible for
#   every alpha other than 1.
# names: alpha applied twice

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def _bwd_dq(
    Q, K, V, DO, LSE, DELTA, DQ, scale, H, N_Q, N_K, D,
    sqz, sqh, sqm, sqd, skz, skh, skn, skd, svz, svh, svn, svd,
    sdoz, sdoh, sdom, sdod, sdqz, sdqh, sdqm, sdqd,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
):
    hz = tl.program_id(1).to(tl.int64)
    z = hz // H
    h = hz % H
    offs_m = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD)
    mm = offs_m < N_Q
    md = offs_d < D
    q = tl.load(
        Q + z * sqz + h * sqh + offs_m[:, None] * sqm + offs_d[None, :] * sqd,
        mask=mm[:, None] & md[None, :], other=0.0
    )
    do = tl.load(
        DO + z * sdoz + h * sdoh + offs_m[:, None] * sdom + offs_d[None, :] * sdod,
        mask=mm[:, None] & md[None, :], other=0.0
    )
    lse = tl.load(LSE + hz * N_Q + offs_m, mask=mm, other=0.0)
    delta = tl.load(DELTA + hz * N_Q + offs_m, mask=mm, other=0.0)
    dq = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    kT_ptrs = K + z * skz + h * skh + offs_n[None, :] * skn + offs_d[:, None] * skd
    vT_ptrs = V + z * svz + h * svh + offs_n[None, :] * svn + offs_d[:, None] * svd
    for start in range(0, N_K, BLOCK_N):
        mn = start + offs_n < N_K
        kT = tl.load(kT_ptrs, mask=md[:, None] & mn[None, :], other=0.0)
        vT = tl.load(vT_ptrs, mask=md[:, None] & mn[None, :], other=0.0)
        s = scale * tl.dot(q, kT, input_precision="ieee")
        p = tl.exp(tl.where(mn[None, :], s, float("-inf")) - lse[:, None])
        dp = tl.dot(do, vT, input_precision="ieee")
        ds = scale * p * (dp - delta[:, None])
        dq += tl.dot(ds.to(kT.dtype), tl.trans(kT), input_precision="ieee")
        kT_ptrs += BLOCK_N * skn
        vT_ptrs += BLOCK_N * svn
    out = DQ + z * sdqz + h * sdqh + offs_m[:, None] * sdqm + offs_d[None, :] * sdqd
    tl.store(out, (dq * scale).to(DQ.dtype.element_ty), mask=mm[:, None] & md[None, :])

def dq_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLK = block or 32
    _bwd_dq[(triton.cdiv(S_q, BLK), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_M=BLK, BLOCK_N=BLK, HEAD=max(16, triton.next_power_of_2(D)),
    )
    return dq
