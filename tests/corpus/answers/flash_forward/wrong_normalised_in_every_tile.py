# label: wrong
# title: normalised in every tile
# says: `acc = (acc * c + p v) / l` divides by l in each tile without multiplying the old acc by the old l
#   first (as FlashAttention 1 does): earlier tiles are divided several times. Wrong as soon as S_k needs two
#   tiles.
# names: divided in every step

@triton.jit
def kern(
    Q, K, V, O, L, scale, H, M, N, D,
    s_qz, s_qh, s_qm, s_qk, s_kz, s_kh, s_kn, s_kk,
    s_vz, s_vh, s_vn, s_vk, s_oz, s_oh, s_om, s_ok,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_DMODEL: tl.constexpr,
):
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    z = (off_hz // H).to(tl.int64)
    h = (off_hz % H).to(tl.int64)
    offs_m = start_m.to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_k = tl.arange(0, BLOCK_DMODEL)
    kmask = offs_k[None, :] < D
    q = tl.load(Q + z * s_qz + h * s_qh + offs_m[:, None] * s_qm + offs_k[None, :] * s_qk,
                mask=(offs_m[:, None] < M) & kmask, other=0.0)
    kp = K + z * s_kz + h * s_kh
    vp = V + z * s_vz + h * s_vh
    m_prev = tl.full([BLOCK_M], -float("inf"), tl.float32)
    l_prev = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_DMODEL], tl.float32)
    for start_n in range(0, N, BLOCK_N):
        n = start_n + offs_n
        k = tl.load(kp + n[:, None] * s_kn + offs_k[None, :] * s_kk, mask=(n[:, None] < N) & kmask, other=0.0)
        qk = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        qk = tl.where(n[None, :] < N, qk, -float("inf"))
        m_curr = tl.maximum(tl.max(qk, 1), m_prev)
        c = tl.exp(m_prev - m_curr)
        p = tl.exp(qk - m_curr[:, None])
        l_curr = tl.sum(p, 1) + l_prev * c
        v = tl.load(vp + n[:, None] * s_vn + offs_k[None, :] * s_vk, mask=(n[:, None] < N) & kmask, other=0.0)
        acc = (acc * c[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")) / l_curr[:, None]
        l_prev = l_curr
        m_prev = m_curr
    tl.store(L + off_hz.to(tl.int64) * M + offs_m, m_prev + tl.log(l_prev), mask=offs_m < M)
    tl.store(O + z * s_oz + h * s_oh + offs_m[:, None] * s_om + offs_k[None, :] * s_ok,
             acc.to(O.dtype.element_ty), mask=(offs_m[:, None] < M) & kmask)

def flash_forward(q, k, v, alpha, block=None):
    B, H, M, D = q.shape
    N = k.shape[2]
    o = torch.empty((B, H, M, D), device=q.device, dtype=q.dtype)
    L = torch.empty((B, H, M), device=q.device, dtype=torch.float32)
    BLK = block or 32
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), B * H)
    kern[grid](
        q, k, v, o, L, alpha, H, M, N, D,
        q.stride(0), q.stride(1), q.stride(2), q.stride(3),
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
        o.stride(0), o.stride(1), o.stride(2), o.stride(3),
        BLOCK_M=BLK, BLOCK_N=BLK, BLOCK_DMODEL=max(16, triton.next_power_of_2(D)),
    )
    return o, L
