# part: a text that answers change

RCP_LN2 = 1.4426950408889634


@triton.jit
def _attn_bwd_dkdv(
    Q, k_in, v_in, DO, M, Delta, DK, DV, sm_scale, qk_scale,
    stride_qz, stride_qh, stride_qm, stride_qd, stride_kz, stride_kh, stride_kn, stride_kd,
    stride_vz, stride_vh, stride_vn, stride_vd, stride_oz, stride_oh, stride_om, stride_od,
    H, N_Q, N_KV, HEAD_DIM,
    CAUSAL: tl.constexpr, BLOCK_M1: tl.constexpr, BLOCK_N1: tl.constexpr, BLOCK_DH: tl.constexpr,
):
    bhid = tl.program_id(1)
    off_z = (bhid // H).to(tl.int64)
    off_h = (bhid % H).to(tl.int64)
    start_n = tl.program_id(0) * BLOCK_N1
    offs_n = start_n + tl.arange(0, BLOCK_N1)
    offs_k = tl.arange(0, BLOCK_DH)
    n_mask = (offs_n[:, None] < N_KV) & (offs_k[None, :] < HEAD_DIM)
    k_ptrs = k_in + off_z * stride_kz + off_h * stride_kh + offs_n[:, None] * stride_kn
    v_ptrs = v_in + off_z * stride_vz + off_h * stride_vh + offs_n[:, None] * stride_vn
    k = tl.load(k_ptrs + offs_k[None, :] * stride_kd, mask=n_mask, other=0.0)
    v = tl.load(v_ptrs + offs_k[None, :] * stride_vd, mask=n_mask, other=0.0)
    Q += off_z * stride_qz + off_h * stride_qh
    DO += off_z * stride_oz + off_h * stride_oh
    M += bhid.to(tl.int64) * N_Q
    Delta += bhid.to(tl.int64) * N_Q
    dk = tl.zeros([BLOCK_N1, BLOCK_DH], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N1, BLOCK_DH], dtype=tl.float32)
    lo = 0
    if CAUSAL:
        lo = tl.maximum(start_n + N_Q - N_KV, 0) // BLOCK_M1 * BLOCK_M1
    for curr_m in range(lo, N_Q, BLOCK_M1):
        offs_m = curr_m + tl.arange(0, BLOCK_M1)
        qT_mask = (offs_m[None, :] < N_Q) & (offs_k[:, None] < HEAD_DIM)
        do_mask = (offs_m[:, None] < N_Q) & (offs_k[None, :] < HEAD_DIM)
        qT = tl.load(Q + offs_m[None, :] * stride_qm + offs_k[:, None] * stride_qd, mask=qT_mask, other=0.0)
        # Load m before computing qk to reduce pipeline stall.
        m = tl.load(M + offs_m, mask=offs_m < N_Q, other=float("inf"))
        qkT = tl.dot(k, qT, input_precision="ieee") * qk_scale
        pT = tl.math.exp2(qkT - m[None, :])
        # Autoregressive masking.
        if CAUSAL:
            mask = offs_m[None, :] + N_KV - N_Q >= offs_n[:, None]
            pT = tl.where(mask, pT, 0.0)
        do = tl.load(DO + offs_m[:, None] * stride_om + offs_k[None, :] * stride_od, mask=do_mask, other=0.0)
        # Compute dV.
        ppT = pT.to(do.dtype)
        dv += tl.dot(ppT, do, input_precision="ieee")
        # D (= delta) is pre-divided by ds_scale.
        Di = tl.load(Delta + offs_m, mask=offs_m < N_Q, other=0.0)
        # Compute dP and dS.
        dpT = tl.dot(v, tl.trans(do), input_precision="ieee").to(tl.float32)
        dsT = pT * (dpT - Di[None, :])
        dsT = dsT.to(qT.dtype)
        dk += tl.dot(dsT, tl.trans(qT), input_precision="ieee")
    dk *= sm_scale
    offs = bhid.to(tl.int64) * N_KV * HEAD_DIM + offs_n[:, None] * HEAD_DIM + offs_k[None, :]
    tl.store(DV + offs, dv.to(DV.dtype.element_ty), mask=n_mask)
    tl.store(DK + offs, dk.to(DK.dtype.element_ty), mask=n_mask)


def _bwd(q, k, v, o, do, lse, sm_scale, causal):
    BATCH, N_HEAD, N_Q, HEAD_DIM = q.shape
    N_KV = k.shape[2]
    delta = torch.sum(o.float() * do.float(), dim=-1)
    dk = torch.empty((BATCH, N_HEAD, N_KV, HEAD_DIM), dtype=k.dtype, device=k.device)
    dv = torch.empty((BATCH, N_HEAD, N_KV, HEAD_DIM), dtype=v.dtype, device=v.device)
    _attn_bwd_dkdv[(triton.cdiv(N_KV, 32), BATCH * N_HEAD)](
        q, k, v, do, lse.contiguous() * RCP_LN2, delta, dk, dv, sm_scale, sm_scale * RCP_LN2,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        N_HEAD, N_Q, N_KV, HEAD_DIM,
        CAUSAL=causal, BLOCK_M1=16, BLOCK_N1=32, BLOCK_DH=max(16, triton.next_power_of_2(HEAD_DIM)),
    )
    return dk, dv


def dkv_kernel(q, k, v, o, do, lse, alpha):
    return _bwd(q, k, v, o, do, lse, alpha, False)


def dkv_kernel_causal(q, k, v, o, do, lse, alpha):
    return _bwd(q, k, v, o, do, lse, alpha, True)
