# label: wrong
# title: fa1 average without old sum
# says: copied from FlashAttention-1's update, which keeps O normalised: the line `out = ...` divides by the
#   new sum in each step but does not multiply the old output by the old sum `l_old`.
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
    live = rows < S_q
    lane = d < D
    Q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=live[:, None] & lane[None, :], other=0.0)
    m_old = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_old = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        j = start + keys
        there = j < S_k
        K = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=there[:, None] & lane[None, :], other=0.0)
        V = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=there[:, None] & lane[None, :], other=0.0)
        S = tl.dot(Q, tl.trans(K), input_precision="ieee") * alpha
        S = tl.where(there[None, :], S, -float("inf"))
        m_tile = tl.max(S, axis=1)
        P = tl.exp(S - m_tile[:, None])
        l_tile = tl.sum(P, axis=1)
        m_new = tl.maximum(m_old, m_tile)
        w_old = tl.exp(m_old - m_new)
        w_tile = tl.exp(m_tile - m_new)
        l_new = w_old * l_old + w_tile * l_tile
        PV = tl.dot(P.to(V.dtype), V, input_precision="ieee")
        out = (w_old[:, None] * out + w_tile[:, None] * PV) / l_new[:, None]  # algorithm 1, line 12
        m_old = m_new
        l_old = l_new
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty),
        mask=live[:, None] & lane[None, :],
    )
    tl.store(lse_ptr + rows, m_old + tl.log(l_old), mask=live)


# INCLUDE: _flash_forward
