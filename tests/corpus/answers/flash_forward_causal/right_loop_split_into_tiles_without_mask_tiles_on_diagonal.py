# label: right
# title: the loop split into tiles without a mask and tiles on the diagonal, by a helper; exp2

@triton.jit
def _inner(acc, l_i, m_i, q, K, V, lo, hi, scale, offs_m, offs_d, shift, N, D, s_kn, s_kd, s_vn, s_vd,
           BLOCK_N: tl.constexpr, ON_DIAGONAL: tl.constexpr):
    for start_n in range(lo, hi, BLOCK_N):
        cols = start_n + tl.arange(0, BLOCK_N)
        k = tl.load(K + cols[None, :] * s_kn + offs_d[:, None] * s_kd,
                    mask=(cols[None, :] < N) & (offs_d[:, None] < D), other=0.0)
        qk = tl.dot(q, k, input_precision="ieee") * scale
        if ON_DIAGONAL:
            qk = tl.where((offs_m[:, None] + shift >= cols[None, :]) & (cols[None, :] < N), qk, float("-inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        m_safe = tl.where(m_ij == float("-inf"), 0.0, m_ij)
        p = tl.exp2(qk - m_safe[:, None])
        alpha = tl.exp2(m_i - m_safe)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(V + cols[:, None] * s_vn + offs_d[None, :] * s_vd,
                    mask=(cols[:, None] < N) & (offs_d[None, :] < D), other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None], input_precision="ieee")
        m_i = m_ij
    return acc, l_i, m_i


@triton.jit
def _fwd_causal_kernel(
    Q, K, V, O, LSE, scale, H, M, N, D, s_qz, s_qh, s_qm, s_qd, s_kz, s_kh, s_kn, s_kd, s_vz, s_vh, s_vn, s_vd,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
):
    start_m, hz = tl.program_id(1).to(tl.int64), tl.program_id(0).to(tl.int64)
    z, h = hz // H, hz % H
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, BLOCK_D)
    Q += z * s_qz + h * s_qh
    K += z * s_kz + h * s_kh
    V += z * s_vz + h * s_vh
    in_q = (offs_m[:, None] < M) & (offs_d[None, :] < D)
    q = tl.load(Q + offs_m[:, None] * s_qm + offs_d[None, :] * s_qd, mask=in_q, other=0.0)
    m_i = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l_i = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    shift = N - M
    # keys below `whole` are seen by every row of this block, keys from `end` on by none
    end = tl.maximum(0, tl.minimum(N, (start_m + 1) * BLOCK_M + shift))
    whole = tl.maximum(0, tl.minimum(N, start_m * BLOCK_M + shift + 1)) // BLOCK_N * BLOCK_N
    scale2 = scale * 1.4426950408889634
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K, V, 0, whole, scale2, offs_m, offs_d, shift, N, D,
                           s_kn, s_kd, s_vn, s_vd, BLOCK_N, False)
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K, V, whole, end, scale2, offs_m, offs_d, shift, N, D,
                           s_kn, s_kd, s_vn, s_vd, BLOCK_N, True)
    nothing = l_i == 0.0
    acc = acc / tl.where(nothing, 1.0, l_i)[:, None]
    lse = tl.where(nothing, float("-inf"), (m_i + tl.log2(l_i)) / 1.4426950408889634)
    tl.store(O + (hz * M + offs_m)[:, None] * D + offs_d[None, :], acc, mask=in_q)
    tl.store(LSE + hz * M + offs_m, lse, mask=offs_m < M)


def split_loops(q, k, v, sm_scale):
    Z, H, M, D = q.shape
    o = torch.empty((Z, H, M, D), dtype=q.dtype)
    lse = torch.empty((Z, H, M), dtype=torch.float32)
    _fwd_causal_kernel[(Z * H, triton.cdiv(M, 32))](
        q, k, v, o, lse, sm_scale, H, M, k.shape[2], D, *q.stride(), *k.stride(), *v.stride(),
        BLOCK_M=32, BLOCK_N=16, BLOCK_D=max(triton.next_power_of_2(D), 16),
    )
    return o, lse
