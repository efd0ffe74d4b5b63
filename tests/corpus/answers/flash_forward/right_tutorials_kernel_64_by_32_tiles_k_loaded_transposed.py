# label: right
# title: a tutorial's kernel: 64 × 32 tiles, K loaded transposed, pointers advanced, exp2 with a folded scale

@triton.jit
def _fwd_tutorial_kernel(
    Q, K, V, sm_scale, L, Out,
    stride_qz, stride_qh, stride_qm, stride_qk, stride_kz, stride_kh, stride_kn, stride_kk,
    stride_vz, stride_vh, stride_vn, stride_vk, stride_oz, stride_oh, stride_om, stride_ok,
    H, N_Q, N_KV, HEAD_DIM, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_DMODEL: tl.constexpr,
):
    start_m = tl.program_id(1).to(tl.int64)
    off_hz = tl.program_id(0).to(tl.int64)
    off_z = off_hz // H
    off_h = off_hz % H
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_DMODEL)
    q_ptrs = (
        Q + off_z * stride_qz + off_h * stride_qh + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qk
    )
    # K comes in transposed: [BLOCK_DMODEL, BLOCK_N]
    k_ptrs = (
        K + off_z * stride_kz + off_h * stride_kh + offs_d[:, None] * stride_kk + offs_n[None, :] * stride_kn
    )
    v_ptrs = (
        V + off_z * stride_vz + off_h * stride_vh + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vk
    )
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_DMODEL], dtype=tl.float32)
    # exp2 is faster than exp: fold log2(e) into the scale
    qk_scale = sm_scale * 1.44269504
    q = tl.load(q_ptrs, mask=(offs_m[:, None] < N_Q) & (offs_d[None, :] < HEAD_DIM), other=0.0)
    for start_n in range(0, N_KV, BLOCK_N):
        n_left = N_KV - start_n
        k = tl.load(k_ptrs, mask=(offs_n[None, :] < n_left) & (offs_d[:, None] < HEAD_DIM), other=0.0)
        v = tl.load(v_ptrs, mask=(offs_n[:, None] < n_left) & (offs_d[None, :] < HEAD_DIM), other=0.0)
        qk = tl.dot(q, k, input_precision="ieee") * qk_scale
        qk = tl.where(offs_n[None, :] < n_left, qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        l_ij = tl.sum(p, 1)
        # -- update m_i and l_i
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + l_ij
        # -- update output accumulator --
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
        m_i = m_ij
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
    # epilogue
    acc = acc / l_i[:, None]
    tl.store(L + off_hz * N_Q + offs_m, (m_i + tl.math.log2(l_i)) * 0.69314718, mask=offs_m < N_Q)
    o_ptrs = (
        Out
        + off_z * stride_oz
        + off_h * stride_oh
        + offs_m[:, None] * stride_om
        + offs_d[None, :] * stride_ok
    )
    tl.store(o_ptrs, acc.to(Out.type.element_ty), mask=(offs_m[:, None] < N_Q) & (offs_d[None, :] < HEAD_DIM))


def fwd_tutorial(q, k, v, sm_scale):
    Z, H, N_Q, HEAD_DIM = q.shape
    N_KV = k.shape[2]
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    L = torch.empty((Z, H, N_Q), device=q.device, dtype=torch.float32)
    grid = (Z * H, triton.cdiv(N_Q, 64), 1)
    _fwd_tutorial_kernel[grid](
        q, k, v, sm_scale, L, o, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        H, N_Q, N_KV, HEAD_DIM, BLOCK_M=64, BLOCK_N=32, BLOCK_DMODEL=max(16, triton.next_power_of_2(HEAD_DIM)),
    )
    return o, L
