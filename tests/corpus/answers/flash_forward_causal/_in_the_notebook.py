# part: a text that answers change

@triton.jit
def flash_forward_causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q

    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    d_ok = d[None, :] < D
    q = tl.load(
        q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=(rows[:, None] < S_q) & d_ok, other=0.0
    )
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    n_tiles = tl.cdiv(tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q), BLOCK_K)
    for t in range(n_tiles):
        cols = t * BLOCK_K + keys
        kv_ok = (cols[:, None] < S_k) & d_ok
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=kv_ok, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        hidden = (cols[None, :] > rows[:, None] + (S_k - S_q)) | (cols[None, :] >= S_k)
        s = tl.where(hidden, -float("inf"), s)
        m_old = m
        m = tl.maximum(m_old, tl.max(s, axis=1))
        m_safe = tl.where(m == -float("inf"), 0.0, m)
        r = tl.exp(m_old - m_safe)
        p = tl.exp(s - m_safe[:, None])
        l = r * l + tl.sum(p, axis=1)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=kv_ok, other=0.0)
        acc = r[:, None] * acc + tl.dot(p.to(v.dtype), v, input_precision="ieee")
    l_safe = tl.where(l == 0.0, 1.0, l)
    o = acc / l_safe[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col,
        o.to(o_ptr.dtype.element_ty), mask=(rows[:, None] < S_q) & d_ok,
    )
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)


def flash_forward_causal(q, k, v, alpha):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_causal_kernel[(triton.cdiv(S_q, 32), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=BLOCK_D,
    )
    return o, lse
