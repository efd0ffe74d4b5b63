# label: right
# title: causal mask hides padding too

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
    real = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=real, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last = tl.full((BLOCK_Q,), 0, tl.int32) + (S_k - 1)
    stop = S_k
    if IS_CAUSAL:
        last = rows + (S_k - S_q)
        stop = tl.minimum(S_k, tl.program_id(0) * BLOCK_Q + BLOCK_Q + S_k - S_q)
    for start in range(0, stop, BLOCK_K):
        j = start + keys
        there = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=there, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=there, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        s = tl.where(j[None, :] <= last[:, None], s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        safe = tl.where(m_new > -float("inf"), m_new, 0.0)
        factor = tl.exp(m - safe)
        p = tl.exp(s - safe[:, None])
        l = l * factor + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * factor[:, None], input_precision="ieee")
        m = m_new
    acc = acc / tl.where(l > 0.0, l, 1.0)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, acc.to(o_ptr.dtype.element_ty), mask=real)
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)


# INCLUDE: _flash_forward_either
