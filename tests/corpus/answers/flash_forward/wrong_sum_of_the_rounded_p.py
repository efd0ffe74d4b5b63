# label: wrong
# title: sum of the rounded p
# says: `l_i = l_i * rescale + tl.sum(w.to(tl.float32), axis=1)` sums the weights after they were rounded to
#   v's dtype, so LSE carries fp16/bf16 rounding
# names: precision

from torch import Tensor


@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_Q rows of Q and all of K and V of its head; writes as many rows of O and of LSE
    # the grid is (blocks of queries, H, B); one of (blocks of queries, B · H) gives the same h and b
    h = (tl.program_id(1) % H).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = (tl.program_id(2) + tl.program_id(1) // H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q  # lse is contiguous, [B, H, S_q]

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)  # this program's queries
    keys = tl.arange(0, BLOCK_K)  # a tile's keys, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    ok_q = rows < S_q
    ok_d = d < D
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=ok_q[:, None] & ok_d[None, :], other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        cols = start + keys
        ok_k = cols < S_k
        kt = tl.load(k_ptr + d[:, None] * k_col + cols[None, :] * k_row, mask=ok_d[:, None] & ok_k[None, :], other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=ok_k[:, None] & ok_d[None, :], other=0.0)
        s = tl.dot(q, kt, input_precision="ieee") * alpha
        s = tl.where(ok_k[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        w = tl.exp(s - m_new[:, None]).to(v.dtype)
        rescale = tl.exp(m_i - m_new)
        l_i = l_i * rescale + tl.sum(w.to(tl.float32), axis=1)
        acc = tl.dot(w, v, acc * rescale[:, None], input_precision="ieee")
        m_i = m_new
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, (acc / l_i[:, None]).to(o_ptr.dtype.element_ty),
             mask=ok_q[:, None] & ok_d[None, :])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=ok_q)


# INCLUDE: _flash_forward
