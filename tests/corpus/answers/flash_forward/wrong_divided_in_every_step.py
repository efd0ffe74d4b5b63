# label: wrong
# title: divided in every step
# says: o is divided by l_new in every step, but the old o is not multiplied by the old l_i before it is added
#   to: the tiles' shares are wrong as soon as there are two
# names: divided in every step

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
    in_q = rows < S_q
    in_d = d < D
    q = tl.load(
        q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_q[:, None] & in_d[None, :], other=0.0
    )
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    o = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for t in range(0, tl.cdiv(S_k, BLOCK_K)):
        j = t * BLOCK_K + keys
        ok = (j < S_k)[:, None] & in_d[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=ok, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=ok, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((j < S_k)[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        w = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_new = w * l_i + tl.sum(p, axis=1)
        o = (w[:, None] * o + tl.dot(p.to(v.dtype), v, input_precision="ieee")) / l_new[:, None]
        m_i = m_new
        l_i = l_new
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty),
        mask=in_q[:, None] & in_d[None, :],
    )
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_q)


# INCLUDE: _flash_forward
