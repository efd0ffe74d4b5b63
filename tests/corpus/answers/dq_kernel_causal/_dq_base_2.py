# part: a text that answers change

RCP_LN2 = 1.4426950408889634  # = 1.0 / ln(2)


@triton.jit
def _attn_bwd_dq(
    Q, K, V, DO, M, Delta, DQ, sm_scale, qk_scale,
    stride_qz, stride_qh, stride_qm, stride_qd, stride_kz, stride_kh, stride_kn, stride_kd,
    stride_vz, stride_vh, stride_vn, stride_vd, stride_oz, stride_oh, stride_om, stride_od,
    stride_gz, stride_gh, stride_gm, stride_gd,
    N_Q, N_KV, HEAD_DIM,
    CAUSAL: tl.constexpr, BLOCK_M2: tl.constexpr, BLOCK_N2: tl.constexpr, BLOCK_DH: tl.constexpr,
):
    pid = tl.program_id(0)
    off_h = tl.program_id(1).to(tl.int64)
    off_z = tl.program_id(2).to(tl.int64)
    off_chz = (off_z * tl.num_programs(1) + off_h) * N_Q
    start_m = pid * BLOCK_M2
    offs_m = start_m + tl.arange(0, BLOCK_M2)
    offs_k = tl.arange(0, BLOCK_DH)
    m_mask = (offs_m[:, None] < N_Q) & (offs_k[None, :] < HEAD_DIM)
    Q += off_z * stride_qz + off_h * stride_qh
    q_ptrs = Q + offs_m[:, None] * stride_qm + offs_k[None, :] * stride_qd
    DO += off_z * stride_oz + off_h * stride_oh
    do_ptrs = DO + offs_m[:, None] * stride_om + offs_k[None, :] * stride_od
    q = tl.load(q_ptrs, mask=m_mask, other=0.0)
    do = tl.load(do_ptrs, mask=m_mask, other=0.0)
    m = tl.load(M + off_chz + offs_m, mask=offs_m < N_Q, other=float("inf"))
    m = m[:, None]
    Di = tl.load(Delta + off_chz + offs_m, mask=offs_m < N_Q, other=0.0)
    dq = tl.zeros([BLOCK_M2, BLOCK_DH], dtype=tl.float32)
    offs_n = tl.arange(0, BLOCK_N2)
    K += off_z * stride_kz + off_h * stride_kh
    kT_ptrs = K + offs_n[None, :] * stride_kn + offs_k[:, None] * stride_kd
    V += off_z * stride_vz + off_h * stride_vh
    vT_ptrs = V + offs_n[None, :] * stride_vn + offs_k[:, None] * stride_vd
    end_n = N_KV
    if CAUSAL:
        end_n = tl.minimum(N_KV, start_m + BLOCK_M2 + N_KV - N_Q)
    for curr_n in range(0, end_n, BLOCK_N2):
        cols = curr_n + offs_n
        n_mask = (cols[None, :] < N_KV) & (offs_k[:, None] < HEAD_DIM)
        kT = tl.load(kT_ptrs, mask=n_mask, other=0.0)
        vT = tl.load(vT_ptrs, mask=n_mask, other=0.0)
        qk = tl.dot(q, kT, input_precision="ieee")
        p = tl.math.exp2(qk * qk_scale - m)
        # Masking.
        keep = cols[None, :] < N_KV
        if CAUSAL:
            keep = keep & (offs_m[:, None] + N_KV - N_Q >= cols[None, :])
        p = tl.where(keep, p, 0.0)
        # Compute dP and dS.
        dp = tl.dot(do, vT, input_precision="ieee").to(tl.float32)
        ds = p * (dp - Di[:, None])
        ds = ds.to(kT.dtype)
        # Compute dQ.
        dq += tl.dot(ds, tl.trans(kT), input_precision="ieee")
        # Increment pointers.
        kT_ptrs += BLOCK_N2 * stride_kn
        vT_ptrs += BLOCK_N2 * stride_vn
    dq *= sm_scale
    DQ += off_z * stride_gz + off_h * stride_gh
    dq_ptrs = DQ + offs_m[:, None] * stride_gm + offs_k[None, :] * stride_gd
    tl.store(dq_ptrs, dq.to(DQ.dtype.element_ty), mask=m_mask)


def _bwd(q, k, v, o, do, lse, sm_scale, causal):
    BATCH, N_HEAD, N_Q, HEAD_DIM = q.shape
    delta = (o.to(torch.float32) * do.to(torch.float32)).sum(dim=-1)
    M = lse.contiguous() * RCP_LN2
    dq = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    _attn_bwd_dq[(triton.cdiv(N_Q, 64), N_HEAD, BATCH)](
        q, k, v, do, M, delta, dq, sm_scale, sm_scale * RCP_LN2,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        N_Q, k.shape[2], HEAD_DIM,
        CAUSAL=causal, BLOCK_M2=64, BLOCK_N2=32, BLOCK_DH=max(16, triton.next_power_of_2(HEAD_DIM)),
    )
    return dq


def dq_kernel(q, k, v, o, do, lse, alpha):
    return _bwd(q, k, v, o, do, lse, alpha, False)


def dq_kernel_causal(q, k, v, o, do, lse, alpha):
    return _bwd(q, k, v, o, do, lse, alpha, True)
