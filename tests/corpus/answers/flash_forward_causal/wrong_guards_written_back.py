# label: wrong
# title: guards written back
# says: the guards are written back into the running values (`m_i = tl.where(...)` after the maximum and `l_i
#   = tl.where(...)` before the logarithm), so that an empty row in a visited tile gets LSE = 0 + log 1 = 0
#   instead of −inf.
# names: one edit

from torch import Tensor


@triton.jit
def flash_forward_causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # query i sees the keys j ≤ i + S_k − S_q; reads K and V only as far as this block's last query sees
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    q_mask = (rows[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_mask, other=0.0)
    shift = S_k - S_q
    stop = tl.minimum(tl.program_id(0) * BLOCK_Q + BLOCK_Q + shift, S_k)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for begin in range(0, stop, BLOCK_K):
        j = begin + keys
        kv_mask = (j[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=kv_mask, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=kv_mask, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        s = tl.where((j[None, :] < S_k) & (j[None, :] <= rows[:, None] + shift), s, -float("inf"))
        old = m_i
        m_i = tl.maximum(old, tl.max(s, axis=1))
        m_i = tl.where(m_i == -float("inf"), 0.0, m_i)  # no -inf - (-inf)
        p = tl.exp(s - m_i[:, None])
        factor = tl.exp(old - m_i)
        l_i = factor * l_i + tl.sum(p, axis=1)
        acc = factor[:, None] * acc + tl.dot(p.to(v.dtype), v, input_precision="ieee")
    l_i = tl.where(l_i == 0.0, 1.0, l_i)  # no 0 / 0
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, (acc / l_i[:, None]).to(o_ptr.dtype.element_ty), mask=q_mask
    )
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=rows < S_q)


# INCLUDE: _flash_forward_causal
