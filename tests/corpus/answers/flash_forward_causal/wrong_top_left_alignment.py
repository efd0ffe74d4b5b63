# label: wrong
# title: top-left alignment
# says: Both `offs_m[:, None] >= n[None, :]` and `hi = min(S_k, (pid + 1) * BM)` leave out S_k - S_q: the mask
#   is aligned top-left. Right for S_q = S_k only; for S_q = 40, S_k = 70 the last 30 keys are seen by nobody.
# names: top-left alignment

@triton.jit
def causal_fwd(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    pid = tl.program_id(0)
    hz = tl.program_id(1).to(tl.int64)
    z = hz // H
    h = hz % H
    offs_m = pid.to(tl.int64) * BM + tl.arange(0, BM)
    offs_d = tl.arange(0, BD)
    q = tl.load(q_ptr + z * q_batch + h * q_head + offs_m[:, None] * q_row + offs_d[None, :] * q_col,
                mask=(offs_m[:, None] < S_q) & (offs_d[None, :] < D), other=0.0)
    m_i = tl.full((BM,), -float("inf"), tl.float32)
    l_i = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    hi = tl.minimum(S_k, (pid + 1) * BM)
    for start in range(0, hi, BN):
        n = start + tl.arange(0, BN).to(tl.int64)
        ok = (n[:, None] < S_k) & (offs_d[None, :] < D)
        k = tl.load(
            k_ptr + z * k_batch + h * k_head + n[:, None] * k_row + offs_d[None, :] * k_col,
            mask=ok, other=0.0
        )
        v = tl.load(
            v_ptr + z * v_batch + h * v_head + n[:, None] * v_row + offs_d[None, :] * v_col,
            mask=ok, other=0.0
        )
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((offs_m[:, None] >= n[None, :]) & (n[None, :] < S_k), s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        safe = tl.where(m_new == -float("inf"), 0.0, m_new)
        c = tl.exp(m_i - safe)
        p = tl.exp(s - safe[:, None])
        l_i = l_i * c + tl.sum(p, 1)
        acc = acc * c[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    l_safe = tl.where(l_i == 0.0, 1.0, l_i)
    acc = acc / l_safe[:, None]
    tl.store(o_ptr + z * o_batch + h * o_head + offs_m[:, None] * o_row + offs_d[None, :] * o_col,
             acc.to(o_ptr.dtype.element_ty), mask=(offs_m[:, None] < S_q) & (offs_d[None, :] < D))
    tl.store(lse_ptr + hz * S_q + offs_m, m_i + tl.log(l_i), mask=offs_m < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLK = block or 32
    causal_fwd[(triton.cdiv(S_q, BLK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BM=BLK, BN=BLK, BD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
