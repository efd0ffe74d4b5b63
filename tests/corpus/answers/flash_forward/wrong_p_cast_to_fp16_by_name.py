# label: wrong
# title: p cast to fp16 by name
# says: `p.to(tl.float16)` in the second tl.dot: with V in bf16 or fp32 the operands have two dtypes and the
#   kernel does not compile. Write p.to(v.dtype).
# names: P cast to fp16 whatever V is

@triton.jit
def _attn_fwd(
    sm_scale, Lse, Q, K, V, Out, H, N_Q, N_KV, HEAD,
    stride_qz, stride_qh, stride_qm, stride_qk,
    stride_kz, stride_kh, stride_kn, stride_kk,
    stride_vz, stride_vh, stride_vn, stride_vk,
    stride_oz, stride_oh, stride_om, stride_ok,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr,
):
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = off_hz // H
    off_h = off_hz % H
    Q += off_z.to(tl.int64) * stride_qz + off_h.to(tl.int64) * stride_qh
    K += off_z.to(tl.int64) * stride_kz + off_h.to(tl.int64) * stride_kh
    V += off_z.to(tl.int64) * stride_vz + off_h.to(tl.int64) * stride_vh
    Out += off_z.to(tl.int64) * stride_oz + off_h.to(tl.int64) * stride_oh
    offs_m = (start_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_d = tl.arange(0, HEAD_DIM)
    inner = offs_d < HEAD
    q = tl.load(Q + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qk,
                mask=(offs_m < N_Q)[:, None] & inner[None, :], other=0.0)
    k_ptrs = K + offs_n[:, None] * stride_kn + offs_d[None, :] * stride_kk
    v_ptrs = V + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vk
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    for start_n in range(0, N_KV, BLOCK_N):
        live = (start_n + offs_n) < N_KV
        k = tl.load(k_ptrs, mask=live[:, None] & inner[None, :], other=0.0)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee") * sm_scale
        qk += tl.where(live[None, :], 0, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp(qk - m_ij[:, None])
        corr = tl.math.exp(m_i - m_ij)
        l_i = l_i * corr + tl.sum(p, 1)
        acc = acc * corr[:, None]
        v = tl.load(v_ptrs, mask=live[:, None] & inner[None, :], other=0.0)
        p = p.to(tl.float16)
        acc = tl.dot(p, v, acc, input_precision="ieee")
        m_i = m_ij
        k_ptrs += BLOCK_N * stride_kn
        v_ptrs += BLOCK_N * stride_vn
    m_i += tl.math.log(l_i)
    acc = acc / l_i[:, None]
    tl.store(Lse + off_hz.to(tl.int64) * N_Q + offs_m, m_i, mask=offs_m < N_Q)
    tl.store(Out + offs_m[:, None] * stride_om + offs_d[None, :] * stride_ok,
             acc.to(Out.type.element_ty), mask=(offs_m < N_Q)[:, None] & inner[None, :])

def flash_forward(q, k, v, alpha, block=None):
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], device=q.device, dtype=torch.float32)
    BLOCK = block or 32
    _attn_fwd[(triton.cdiv(q.shape[2], BLOCK), q.shape[0] * q.shape[1])](
        alpha, lse, q, k, v, o, q.shape[1], q.shape[2], k.shape[2], q.shape[3],
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_M=BLOCK, BLOCK_N=BLOCK, HEAD_DIM=max(16, triton.next_power_of_2(q.shape[3])),
    )
    return o, lse
