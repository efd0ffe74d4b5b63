# label: wrong
# title: alpha folded into half q
# says: `q = (q * alpha).to(q.dtype)` rounds alpha q to the input's half precision before the product; scores
#   and LSE are off by a rounding of q
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
    inside_q = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=inside_q, other=0.0)
    q = (q * alpha).to(q.dtype)  # scale once per row, not once per score
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.full((BLOCK_Q,), 0.0, tl.float32)
    o = tl.full((BLOCK_Q, BLOCK_D), 0.0, tl.float32)
    for first in range(0, tl.cdiv(S_k, BLOCK_K)):
        j = first * BLOCK_K + keys
        inside = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=inside, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=inside, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((j < S_k)[None, :], s, -float("inf"))
        m_next = tl.maximum(m, tl.max(s, axis=1))
        shrink = tl.exp(m - m_next)
        p = tl.exp(s - m_next[:, None])
        l = shrink * l + tl.sum(p, axis=1)
        o = shrink[:, None] * o + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_next
    o = o / l[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=inside_q)
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)


# INCLUDE: _flash_forward
