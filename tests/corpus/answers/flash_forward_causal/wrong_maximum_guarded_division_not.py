# label: wrong
# title: maximum guarded, division not
# says: `acc / l[:, None]` has no guard: a query that sees nothing (S_q > S_k) has l = 0 and acc = 0, and its
#   O is 0/0 = NaN instead of 0.
# names: zero over zero; rows that see nothing are NaN

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
    row_m = rows[:, None] < S_q
    d_m = d[None, :] < D
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=row_m & d_m, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    limit = rows + (S_k - S_q) + 1  # number of keys that each query sees
    stop = tl.minimum((tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q, S_k)
    j = 0
    while j < stop:
        n = j + keys
        k = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col, mask=(n[:, None] < S_k) & d_m, other=0.0)
        v = tl.load(v_ptr + n[:, None] * v_row + d[None, :] * v_col, mask=(n[:, None] < S_k) & d_m, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        s = tl.where(n[None, :] < limit[:, None], s, -float("inf"))
        s = tl.where(n[None, :] < S_k, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        base = tl.where(m_new > -float("inf"), m_new, 0.0)
        p = tl.exp(s - base[:, None])
        w = tl.exp(m - base)
        l = w * l + tl.sum(p, axis=1)
        acc = w[:, None] * acc + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
        j += BLOCK_K
    o = acc / l[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=row_m & d_m
    )
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    flash_forward_causal_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
