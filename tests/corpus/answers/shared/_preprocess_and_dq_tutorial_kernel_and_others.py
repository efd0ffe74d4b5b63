# part: a text that answers include

RLN2 = tl.constexpr(1.4426950408889634)


@triton.jit
def _preprocess(O, DO, Delta, s_oz, s_oh, s_om, s_od, s_dz, s_dh, s_dm, s_dd, H, M, D,
                BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr):
    hz = tl.program_id(0).to(tl.int64)
    m = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.arange(0, BLOCK_D)
    ok = (m[:, None] < M) & (n[None, :] < D)
    o = tl.load(O + (hz // H) * s_oz + (hz % H) * s_oh + m[:, None] * s_om + n[None, :] * s_od, mask=ok, other=0.0)
    do = tl.load(DO + (hz // H) * s_dz + (hz % H) * s_dh + m[:, None] * s_dm + n[None, :] * s_dd, mask=ok, other=0.0)
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
    tl.store(Delta + hz * M + m, delta, mask=m < M)


@triton.jit
def _dq_tutorial_kernel(
    Q, K, V, sm_scale, DO, DQ, LSE, Delta,
    s_qz, s_qh, s_qm, s_qd, s_kz, s_kh, s_kn, s_kd, s_vz, s_vh, s_vn, s_vd, s_dz, s_dh, s_dm, s_dd,
    H, M, N, D, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr, CAUSAL: tl.constexpr,
):
    hz = tl.program_id(0).to(tl.int64)
    z, h = hz // H, hz % H
    Q += z * s_qz + h * s_qh
    K += z * s_kz + h * s_kh
    V += z * s_vz + h * s_vh
    DO += z * s_dz + h * s_dh
    start_m = tl.program_id(1).to(tl.int64) * BLOCK_M
    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    qmask = (offs_m[:, None] < M) & (offs_d[None, :] < D)
    q = tl.load(Q + offs_m[:, None] * s_qm + offs_d[None, :] * s_qd, mask=qmask, other=0.0)
    do = tl.load(DO + offs_m[:, None] * s_dm + offs_d[None, :] * s_dd, mask=qmask, other=0.0)
    # statistics in base 2
    m = tl.load(LSE + hz * M + offs_m, mask=offs_m < M, other=0.0) * RLN2
    Di = tl.load(Delta + hz * M + offs_m, mask=offs_m < M, other=0.0)
    if CAUSAL:
        m = tl.where(m == float("-inf"), 0.0, m)
    kT_ptrs = K + offs_n[None, :] * s_kn + offs_d[:, None] * s_kd
    vT_ptrs = V + offs_n[None, :] * s_vn + offs_d[:, None] * s_vd
    dq = tl.zeros([BLOCK_M, BLOCK_D], dtype=tl.float32)
    hi = N
    if CAUSAL:
        hi = tl.minimum(N, start_m + BLOCK_M + (N - M))
    for start_n in range(0, hi, BLOCK_N):
        curr_n = start_n + offs_n
        kmask = (curr_n[None, :] < N) & (offs_d[:, None] < D)
        kT = tl.load(kT_ptrs, mask=kmask, other=0.0)
        vT = tl.load(vT_ptrs, mask=kmask, other=0.0)
        qk = tl.dot(q, kT, input_precision="ieee") * (sm_scale * RLN2)
        p = tl.math.exp2(qk - m[:, None])
        p = tl.where(curr_n[None, :] < N, p, 0.0)
        # Autoregressive masking.
        if CAUSAL:
            mask = offs_m[:, None] + (N - M) >= curr_n[None, :]
            p = tl.where(mask, p, 0.0)
        # Compute dP and dS.
        dp = tl.dot(do, vT, input_precision="ieee").to(tl.float32)
        ds = p * (dp - Di[:, None])
        ds = ds.to(kT.dtype)
        # NOTE: the scale comes in the epilogue
        dq += tl.dot(ds, tl.trans(kT), input_precision="ieee")
        # Increment pointers.
        kT_ptrs += BLOCK_N * s_kn
        vT_ptrs += BLOCK_N * s_vn
    dq *= sm_scale
    tl.store(DQ + (hz * M + offs_m)[:, None] * D + offs_d[None, :], dq.to(DQ.dtype.element_ty), mask=qmask)


def _launch_dq(q, k, v, o, do, lse, sm_scale, causal, BLOCK_M=32, BLOCK_N=16):
    Z, H, M, D = q.shape
    N = k.shape[2]
    BLOCK_D = max(16, triton.next_power_of_2(D))
    lse = lse.contiguous()
    delta = torch.empty_like(lse)
    dq = torch.empty((Z, H, M, D), dtype=q.dtype, device=q.device)
    grid = (Z * H, triton.cdiv(M, BLOCK_M))
    _preprocess[grid](o, do, delta, *o.stride(), *do.stride(), H, M, D, BLOCK_M=BLOCK_M, BLOCK_D=BLOCK_D)
    _dq_tutorial_kernel[grid](
        q, k, v, sm_scale, do, dq, lse, delta, *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        H, M, N, D, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_D=BLOCK_D, CAUSAL=causal,
    )
    return dq
