# label: wrong
# title: tiles left of the diagonal unmasked
# says: the first loop takes the tiles before `clear` without the causal mask, but `clear` is no multiple of
#   BLOCK_K when S_k − S_q is none: its last tile hangs over `clear`, hidden keys leak in and keys are counted
#   twice by the second loop.
# names: leak from the future

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
    in_queries = rows < S_q
    in_d = d < D
    q = tl.load(
        q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_queries[:, None] & in_d[None, :], other=0.0
    )
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    clear = S_k  # keys that every query of the block sees: no mask there
    if IS_CAUSAL:
        clear = tl.maximum(0, tl.program_id(0) * BLOCK_Q + S_k - S_q)
    for start in range(0, clear, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
        for start in range(clear, end, BLOCK_K):  # the tiles on the diagonal
            columns = start + keys
            in_keys = columns < S_k
            in_tile = in_keys[:, None] & in_d[None, :]
            k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
            v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
            s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
            seen = in_keys[None, :] & (columns[None, :] <= rows[:, None] + S_k - S_q)
            s = tl.where(seen, s, -float("inf"))
            m_new = tl.maximum(m_i, tl.max(s, axis=1))
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)
            rescale = tl.exp(m_i - shift)
            p = tl.exp(s - shift[:, None])
            l_i = l_i * rescale + tl.sum(p, axis=1)
            acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
            m_i = m_new
    divisor = tl.where(l_i == 0.0, 1.0, l_i)
    o = acc / divisor[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty),
        mask=in_queries[:, None] & in_d[None, :],
    )
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)


# INCLUDE: _flash_forward_either
