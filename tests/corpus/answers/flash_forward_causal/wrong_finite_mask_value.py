# label: wrong
# title: finite mask value
# says: hidden scores are set to -1e9 and not to -inf: a query that sees nothing, in a block that visits a
#   tile, gets equal weights, a mean of V and LSE near -1e9
# names: a finite number for −inf

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
    in_q = rows < S_q
    in_d = d < D
    block_ok = in_q[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=block_ok, other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    shift = S_k - S_q
    stop = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + shift)
    for start in range(0, stop, BLOCK_K):
        j = start + keys
        j_ok = j < S_k
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=j_ok[:, None] & in_d[None, :], other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=j_ok[:, None] & in_d[None, :], other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        visible = j_ok[None, :] & (j[None, :] <= rows[:, None] + shift)
        s = tl.where(visible, s, -1.0e9)
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        unit = tl.where(m_new == -float("inf"), 0.0, m_new)
        w = tl.exp(m_i - unit)
        p = tl.exp(s - unit[:, None])
        l_i = l_i * w + tl.sum(p, axis=1)
        acc = acc * w[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    out = acc / tl.where(l_i > 0.0, l_i, 1.0)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty), mask=block_ok)
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_q)


# INCLUDE: _flash_forward_causal
