# label: right
# title: everything transposed, keys down and queries across

@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(0) // H).to(tl.int64)
    h = (tl.program_id(0) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += tl.program_id(0).to(tl.int64) * S_q
    rows = tl.program_id(1).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    qt_in = (d < D)[:, None] & (rows < S_q)[None, :]
    qt = tl.load(q_ptr + d[:, None] * q_col + rows[None, :] * q_row, mask=qt_in, other=0.0)  # (D, Q)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acct = tl.zeros((BLOCK_D, BLOCK_Q), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        n = start + keys
        k = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col,
                    mask=(n < S_k)[:, None] & (d < D)[None, :], other=0.0)
        vt = tl.load(v_ptr + d[:, None] * v_col + n[None, :] * v_row,
                     mask=(d < D)[:, None] & (n < S_k)[None, :], other=0.0)
        st = alpha * tl.dot(k, qt, input_precision="ieee")  # (K, Q)
        st = tl.where((n < S_k)[:, None], st, -float("inf"))
        m_new = tl.maximum(m, tl.max(st, axis=0))
        r = tl.exp(m - m_new)
        pt = tl.exp(st - m_new[None, :])
        l = l * r + tl.sum(pt, axis=0)
        acct = acct * r[None, :] + tl.dot(vt, pt.to(vt.dtype), input_precision="ieee")
        m = m_new
    ot = acct / l[None, :]
    tl.store(o_ptr + d[:, None] * o_col + rows[None, :] * o_row, ot.to(o_ptr.dtype.element_ty), mask=qt_in)
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)

def flash_forward(q, k, v, alpha, block = None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    flash_forward_kernel[(B * H, triton.cdiv(S_q, BLOCK))](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
