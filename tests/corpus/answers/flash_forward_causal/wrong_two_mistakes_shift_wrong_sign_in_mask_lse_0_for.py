# label: wrong
# title: two mistakes: shift of the wrong sign in the mask, and LSE 0 for empty rows
# says: The mask compares with `rows + S_q - S_k`; it must be rows + S_k - S_q, which only S_q = S_k forgives.
#   And `tl.where(l == 0.0, 0.0, ...)` stores LSE = 0 for a row that sees nothing, where the text asks for
#   -inf.
# names: S_k − S_q with the wrong sign + LSE of empty rows is 0; LSE of empty rows is 0

@triton.jit
def causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    pid = tl.program_id(0)
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    H = tl.num_programs(1)
    rows = pid.to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    keep = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col, mask=keep, other=0.0
    )
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = tl.minimum(S_k, (pid + 1) * BLOCK_Q + S_k - S_q)
    for start in range(0, end, BLOCK_K):
        cols = start + tl.arange(0, BLOCK_K).to(tl.int64)
        kv_keep = (cols < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(
            k_ptr + b * k_batch + h * k_head + cols[:, None] * k_row + d[None, :] * k_col,
            mask=kv_keep, other=0.0
        )
        v = tl.load(
            v_ptr + b * v_batch + h * v_head + cols[:, None] * v_row + d[None, :] * v_col,
            mask=kv_keep, other=0.0
        )
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((cols[None, :] <= (rows + S_q - S_k)[:, None]) & (cols < S_k)[None, :], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        z = tl.where(m_new == -float("inf"), 0.0, m_new)
        a = tl.exp(m - z)
        p = tl.exp(s - z[:, None])
        l = l * a + tl.sum(p, axis=1)
        acc = acc * a[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_new
    l_ok = tl.where(l == 0.0, 1.0, l)
    tl.store(o_ptr + b * o_batch + h * o_head + rows[:, None] * o_row + d[None, :] * o_col,
             (acc / l_ok[:, None]).to(o_ptr.dtype.element_ty), mask=keep)
    lse = tl.where(l == 0.0, 0.0, m + tl.log(l_ok))
    tl.store(lse_ptr + (b * H + h) * S_q + rows, lse, mask=rows < S_q)

def flash_forward_causal(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    causal_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
