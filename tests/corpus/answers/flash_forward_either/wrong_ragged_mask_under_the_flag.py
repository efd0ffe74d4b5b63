# label: wrong
# title: ragged mask under the flag
# says: the only mask on s stands under `if IS_CAUSAL`, so without causal mask the padded keys of the last
#   tile keep s = 0 and count in l_i
# names: padded keys are not masked

from torch import Tensor


@triton.jit
def flash_forward_either_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    IS_CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # if IS_CAUSAL, query i sees the keys j ≤ i + S_k − S_q, else all of them
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
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    else:
        end = S_k
    for start in range(0, end, BLOCK_K):
        cols = start + keys
        tile_ok = (cols < S_k)[:, None] & in_d[None, :]
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=tile_ok, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=tile_ok, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        if IS_CAUSAL:
            visible = (cols < S_k)[None, :] & (cols[None, :] <= rows[:, None] + S_k - S_q)
            s = tl.where(visible, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        safe = tl.where(m_new == -float("inf"), 0.0, m_new)
        w = tl.exp(m_i - safe)
        p = tl.exp(s - safe[:, None])
        l_i = l_i * w + tl.sum(p, axis=1)
        acc = acc * w[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    o = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=block_ok)
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_q)


# INCLUDE: _flash_forward_either
