# label: wrong
# title: exp2 with a folded scale, LSE left in base 2
# says: `lse = m_i + tl.log2(l_i)`: m_i and l_i live in base 2, so this is LSE / ln 2. It has to be multiplied
#   by ln 2; O is right and the LSE wrong for every input.
# names: LSE in base 2

@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, qk_scale, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    z = tl.program_id(1).to(tl.int64)
    b = z // H
    h = z - b * H
    rows = tl.program_id(0).to(tl.int64) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    dm = d < D
    qm = rows < S_q
    q = tl.load(
        q_ptr + b * q_batch + h * q_head + rows[:, None] * q_row + d[None, :] * q_col,
        mask=qm[:, None] & dm[None, :], other=0.0,
    )
    kk = tl.arange(0, BLOCK_K).to(tl.int64)
    k_ptrs = k_ptr + b * k_batch + h * k_head + kk[None, :] * k_row + d[:, None] * k_col  # already transposed
    v_ptrs = v_ptr + b * v_batch + h * v_head + kk[:, None] * v_row + d[None, :] * v_col
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start_n in range(0, S_k, BLOCK_K):
        km = kk < S_k - start_n
        kt = tl.load(k_ptrs, mask=km[None, :] & dm[:, None], other=0.0)
        qk = tl.dot(q, kt, input_precision="ieee") * qk_scale
        qk = tl.where(km[None, :], qk, -float("inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, axis=1))
        p = tl.exp2(qk - m_ij[:, None])
        a = tl.exp2(m_i - m_ij)
        l_i = l_i * a + tl.sum(p, axis=1)
        acc = acc * a[:, None]
        v = tl.load(v_ptrs, mask=km[:, None] & dm[None, :], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc=acc, input_precision="ieee")
        m_i = m_ij
        k_ptrs += BLOCK_K * k_row
        v_ptrs += BLOCK_K * v_row
    acc = acc / l_i[:, None]
    lse = m_i + tl.log2(l_i)
    tl.store(lse_ptr + z * S_q + rows, lse, mask=qm)
    tl.store(
        o_ptr + b * o_batch + h * o_head + rows[:, None] * o_row + d[None, :] * o_col,
        acc.to(o_ptr.dtype.element_ty), mask=qm[:, None] & dm[None, :],
    )

def flash_forward(q, k, v, alpha, block=None):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = block or 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha * 1.4426950408889634, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
