# label: wrong
# title: lse in base two, once more
# says: the scores are in powers of two (scale = alpha * log2 e), and the last store writes m + log2(l)
#   without the factor ln 2: LSE is not the natural logarithm
# names: LSE in base 2

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
    scale = alpha * 1.4426950408889634
    row_ok = rows[:, None] < S_q
    d_ok = d[None, :] < D
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=row_ok & d_ok, other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.full((BLOCK_Q,), 0.0, tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        n = start + keys
        n_ok = n[:, None] < S_k
        k = tl.load(k_ptr + n[:, None] * k_row + d[None, :] * k_col, mask=n_ok & d_ok, other=0.0)
        v = tl.load(v_ptr + n[:, None] * v_row + d[None, :] * v_col, mask=n_ok & d_ok, other=0.0)
        qk = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        qk = tl.where(n[None, :] < S_k, qk, -float("inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        correction = tl.math.exp2(m_i - m_ij)
        l_i = l_i * correction + tl.sum(p, 1)
        acc = acc * correction[:, None]
        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_ij
    acc = acc / l_i[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, acc.to(o_ptr.dtype.element_ty), mask=row_ok & d_ok
    )
    tl.store(lse_ptr + rows, m_i + tl.math.log2(l_i), mask=rows < S_q)


# INCLUDE: _flash_forward
