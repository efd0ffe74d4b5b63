# part: a text that answers change

@triton.jit
def _attn_fwd(
    Q, K, V, sm_scale, L, Out,
    stride_qz, stride_qh, stride_qm, stride_qk, stride_kz, stride_kh, stride_kn, stride_kk,
    stride_vz, stride_vh, stride_vn, stride_vk, stride_oz, stride_oh, stride_om, stride_ok,
    H, N_CTX, KV_CTX, HEAD_DIM,
    CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_DMODEL: tl.constexpr,
):
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = (off_hz // H).to(tl.int64)
    off_h = (off_hz % H).to(tl.int64)
    Q_block_ptr = tl.make_block_ptr(
        base=Q + off_z * stride_qz + off_h * stride_qh, shape=(N_CTX, HEAD_DIM),
        strides=(stride_qm, stride_qk), offsets=(start_m * BLOCK_M, 0),
        block_shape=(BLOCK_M, BLOCK_DMODEL), order=(1, 0),
    )
    K_block_ptr = tl.make_block_ptr(
        base=K + off_z * stride_kz + off_h * stride_kh, shape=(HEAD_DIM, KV_CTX),
        strides=(stride_kk, stride_kn), offsets=(0, 0),
        block_shape=(BLOCK_DMODEL, BLOCK_N), order=(0, 1),
    )
    V_block_ptr = tl.make_block_ptr(
        base=V + off_z * stride_vz + off_h * stride_vh, shape=(KV_CTX, HEAD_DIM),
        strides=(stride_vn, stride_vk), offsets=(0, 0),
        block_shape=(BLOCK_N, BLOCK_DMODEL), order=(1, 0),
    )
    O_block_ptr = tl.make_block_ptr(
        base=Out + off_z * stride_oz + off_h * stride_oh, shape=(N_CTX, HEAD_DIM),
        strides=(stride_om, stride_ok), offsets=(start_m * BLOCK_M, 0),
        block_shape=(BLOCK_M, BLOCK_DMODEL), order=(1, 0),
    )
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, BLOCK_DMODEL], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504  # 1/log(2)
    q = tl.load(Q_block_ptr, boundary_check=(0, 1), padding_option="zero")
    hi = KV_CTX
    if CAUSAL:
        hi = tl.minimum(KV_CTX, (start_m + 1) * BLOCK_M + KV_CTX - N_CTX)
    for start_n in range(0, hi, BLOCK_N):
        k = tl.load(K_block_ptr, boundary_check=(0, 1), padding_option="zero")
        qk = tl.dot(q, k, input_precision="ieee") * qk_scale
        mask = (start_n + offs_n)[None, :] < KV_CTX
        if CAUSAL:
            mask = mask & (offs_m[:, None] + (KV_CTX - N_CTX) >= (start_n + offs_n)[None, :])
        qk = tl.where(mask, qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        m_use = tl.where(m_ij == float("-inf"), 0.0, m_ij)
        p = tl.math.exp2(qk - m_use[:, None])
        l_ij = tl.sum(p, 1)
        # -- update m_i and l_i
        alpha = tl.math.exp2(m_i - m_use)
        l_i = l_i * alpha + l_ij
        # -- update output accumulator --
        acc = acc * alpha[:, None]
        v = tl.load(V_block_ptr, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
        m_i = m_ij
        V_block_ptr = tl.advance(V_block_ptr, (BLOCK_N, 0))
        K_block_ptr = tl.advance(K_block_ptr, (0, BLOCK_N))
    # epilogue
    lse = (m_i + tl.math.log2(l_i)) * 0.6931471805599453
    acc = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]
    tl.store(L + off_hz.to(tl.int64) * N_CTX + offs_m, lse, mask=offs_m < N_CTX)
    tl.store(O_block_ptr, acc.to(Out.type.element_ty), boundary_check=(0, 1))


def _run(q, k, v, sm_scale, causal):
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    L = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    BLOCK_M, BLOCK_N = 64, 32
    grid = (triton.cdiv(q.shape[2], BLOCK_M), q.shape[0] * q.shape[1])
    _attn_fwd[grid](
        q, k, v, sm_scale, L, o,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        q.shape[1], q.shape[2], k.shape[2], q.shape[3],
        CAUSAL=causal, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N,
        BLOCK_DMODEL=max(16, triton.next_power_of_2(q.shape[3])),
    )
    return o, L


def flash_forward(q, k, v, alpha):
    return _run(q, k, v, alpha, False)


def flash_forward_causal(q, k, v, alpha):
    return _run(q, k, v, alpha, True)
