# part: a text that answers include

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _dkdv_tutorial_kernel(
    Q, K, V, sm_scale, DO, DK, DV, M_, D_,
    s_qz, s_qh, s_qm, s_qd, s_kz, s_kh, s_kn, s_kd, s_vz, s_vh, s_vn, s_vd, s_dz, s_dh, s_dm, s_dd,
    H, N_Q, N_KV, HEAD_DIM,
    BLOCK_M1: tl.constexpr, BLOCK_N1: tl.constexpr, BLOCK_DMODEL: tl.constexpr, CAUSAL: tl.constexpr,
):
    bhid = tl.program_id(0).to(tl.int64)
    z, h = bhid // H, bhid % H
    Q += z * s_qz + h * s_qh
    K += z * s_kz + h * s_kh
    V += z * s_vz + h * s_vh
    DO += z * s_dz + h * s_dh
    M_ += bhid * N_Q
    D_ += bhid * N_Q
    offs_k = tl.arange(0, BLOCK_DMODEL)
    start_n = tl.program_id(1).to(tl.int64) * BLOCK_N1
    offs_n = start_n + tl.arange(0, BLOCK_N1)
    nmask = (offs_n[:, None] < N_KV) & (offs_k[None, :] < HEAD_DIM)
    # load K and V: they stay in SRAM throughout the inner loop.
    k = tl.load(K + offs_n[:, None] * s_kn + offs_k[None, :] * s_kd, mask=nmask, other=0.0)
    v = tl.load(V + offs_n[:, None] * s_vn + offs_k[None, :] * s_vd, mask=nmask, other=0.0)
    dv = tl.zeros([BLOCK_N1, BLOCK_DMODEL], dtype=tl.float32)
    dk = tl.zeros([BLOCK_N1, BLOCK_DMODEL], dtype=tl.float32)
    start_m = 0
    if CAUSAL:
        start_m = tl.maximum(0, start_n - (N_KV - N_Q)) // BLOCK_M1 * BLOCK_M1
    num_steps = tl.cdiv(N_Q - start_m, BLOCK_M1)
    curr_m = start_m
    for _ in range(num_steps):
        offs_m = curr_m + tl.arange(0, BLOCK_M1)
        mmask = offs_m < N_Q
        qT = tl.load(Q + offs_m[None, :] * s_qm + offs_k[:, None] * s_qd,
                     mask=mmask[None, :] & (offs_k[:, None] < HEAD_DIM), other=0.0)
        # Load m before computing qk to reduce pipeline stall.
        m = tl.load(M_ + offs_m, mask=mmask, other=0.0)
        qkT = tl.dot(k, qT, input_precision="ieee")
        pT = tl.math.exp2(qkT * (sm_scale * LOG2E) - (m * LOG2E)[None, :])
        keep = mmask[None, :] & (offs_n[:, None] < N_KV)
        # Autoregressive masking.
        if CAUSAL:
            keep = keep & (offs_m[None, :] + (N_KV - N_Q) >= offs_n[:, None])
        pT = tl.where(keep, pT, 0.0)
        do = tl.load(DO + offs_m[:, None] * s_dm + offs_k[None, :] * s_dd,
                     mask=mmask[:, None] & (offs_k[None, :] < HEAD_DIM), other=0.0)
        # Compute dV.
        ppT = pT
        ppT = ppT.to(do.dtype)
        dv += tl.dot(ppT, do, input_precision="ieee")
        # D (= delta) is pre-divided by nothing.
        Di = tl.load(D_ + offs_m, mask=mmask, other=0.0)
        # Compute dP and dS.
        dpT = tl.dot(v, tl.trans(do), input_precision="ieee").to(tl.float32)
        dsT = pT * (dpT - Di[None, :])
        dsT = dsT.to(qT.dtype)
        dk += tl.dot(dsT, tl.trans(qT), input_precision="ieee")
        # Increment pointers.
        curr_m += BLOCK_M1
    tl.store(DV + (bhid * N_KV + offs_n)[:, None] * HEAD_DIM + offs_k[None, :], dv.to(DV.dtype.element_ty), mask=nmask)
    # Write back dK.
    dk *= sm_scale
    tl.store(DK + (bhid * N_KV + offs_n)[:, None] * HEAD_DIM + offs_k[None, :], dk.to(DK.dtype.element_ty), mask=nmask)


def _launch_dkdv(q, k, v, o, do, lse, sm_scale, causal, BLOCK_M1=16, BLOCK_N1=32):
    Z, H, N_Q, HEAD_DIM = q.shape
    N_KV = k.shape[2]
    delta = (o.float() * do.float()).sum(dim=-1).contiguous()
    dk = torch.empty((Z, H, N_KV, HEAD_DIM), dtype=k.dtype, device=k.device)
    dv = torch.empty((Z, H, N_KV, HEAD_DIM), dtype=v.dtype, device=v.device)
    grid = (Z * H, triton.cdiv(N_KV, BLOCK_N1))
    _dkdv_tutorial_kernel[grid](
        q, k, v, sm_scale, do, dk, dv, lse.contiguous(), delta,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), H, N_Q, N_KV, HEAD_DIM,
        BLOCK_M1=BLOCK_M1, BLOCK_N1=BLOCK_N1, BLOCK_DMODEL=max(16, triton.next_power_of_2(HEAD_DIM)), CAUSAL=causal,
    )
    return dk, dv
