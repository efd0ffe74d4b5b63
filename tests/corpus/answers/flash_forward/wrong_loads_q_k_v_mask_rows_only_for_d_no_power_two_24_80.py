# label: wrong
# title: no d < D in the loads
# says: The loads of q, k and v mask rows only. For a D that is no power of two (24, 80) lanes from D on hold
#   the next row's numbers, and they enter the dot product q·k.
# names: D is not masked

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
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=(rows < S_q)[:, None], other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    start = 0
    while start < S_k:
        cols = start + keys
        cmask = cols < S_k
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=cmask[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(cmask[None, :], s * alpha, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        p = tl.exp(s - m_new[:, None])
        r = tl.exp(m - m_new)
        l = r * l + tl.sum(p, axis=1)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=cmask[:, None], other=0.0)
        acc = acc * r[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
        start += BLOCK_K
    o_mask = (rows < S_q)[:, None] & (d < D)[None, :]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, (acc / l[:, None]).to(o_ptr.dtype.element_ty),
        mask=o_mask
    )
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )
    return o, lse
