# label: wrong
# title: maximum overwritten before the rescale
# says: `m_i = tl.maximum(m_i, ...)` is assigned before `rescale = tl.exp(m_old - m_i)` is formed, and m_old
#   is read after it: rescale is always 1. Rows whose maximum moves after the first tile are wrong (S_k >
#   BLOCK_K).
# names: nothing rescaled

@triton.jit
def flash_forward_kernel(
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
    is_row, is_d = rows < S_q, d < D
    q = tl.load(
        q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=is_row[:, None] & is_d[None, :], other=0.0
    )
    m_i = tl.full((BLOCK_Q,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        col = start + keys
        is_key = col < S_k
        k = tl.load(
            k_ptr + col[:, None] * k_row + d[None, :] * k_col,
            mask=is_key[:, None] & is_d[None, :], other=0.0
        )
        v = tl.load(
            v_ptr + col[:, None] * v_row + d[None, :] * v_col,
            mask=is_key[:, None] & is_d[None, :], other=0.0
        )
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(is_key[None, :], s, float("-inf"))
        m_i = tl.maximum(m_i, tl.max(s, axis=1))
        p = tl.exp(s - m_i[:, None])
        m_old = m_i
        rescale = tl.exp(m_old - m_i)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
    o = acc / l_i[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty),
        mask=is_row[:, None] & is_d[None, :]
    )
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=is_row)

def flash_forward(
    q, k, v, alpha, block = None
):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
