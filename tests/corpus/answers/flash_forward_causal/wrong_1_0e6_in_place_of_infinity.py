# label: wrong
# title: -1.0e6 in place of infinity
# says: Hidden scores get -1.0e6 instead of -inf: a query that sees nothing but shares a block with others
#   (S_q > S_k) finds all its scores equal and attends to every key of its tiles. O is a mean of hidden
#   values, not 0, and LSE about -1e6, not -inf.
# names: a finite number for −inf

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
    qm = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=qm, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    shift = S_k - S_q
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + shift)
    for start in range(0, end, BLOCK_K):
        cols = start + keys
        km = (cols < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=km, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=km, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        mask = (rows[:, None] + shift >= cols[None, :]) & (cols[None, :] < S_k)
        s = tl.where(mask, s, -1.0e6)
        m_new = tl.maximum(m, tl.max(s, axis=1))
        rescale = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        l = l * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    acc = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, acc.to(o_ptr.dtype.element_ty), mask=qm)
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block = None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_forward_causal_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
