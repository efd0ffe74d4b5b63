# label: wrong
# title: lse in base two, once more, once more
# says: the last line stores m + log2(l) where m is kept in units of log2(e): the LSE comes out in base 2, not
#   as a natural logarithm (a factor ln 2 is forgotten).
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
    qk_scale = alpha * 1.44269504  # so that exp2 can be used in the loop
    q_ok = (rows[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_ok, other=0.0)
    m = tl.full([BLOCK_Q], float("-inf"), dtype=tl.float32)
    l = tl.zeros([BLOCK_Q], dtype=tl.float32)
    acc = tl.zeros([BLOCK_Q, BLOCK_D], dtype=tl.float32)
    for start in range(0, S_k, BLOCK_K):
        n = start + keys
        kt_ok = (d[:, None] < D) & (n[None, :] < S_k)
        kt = tl.load(k_ptr + n[None, :] * k_row + d[:, None] * k_col, mask=kt_ok, other=0.0)  # already transposed
        qk = tl.dot(q, kt, input_precision="ieee") * qk_scale
        qk = tl.where(n[None, :] < S_k, qk, float("-inf"))
        m_ij = tl.maximum(m, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        correction = tl.math.exp2(m - m_ij)
        l = l * correction + tl.sum(p, 1)
        v_ok = (n[:, None] < S_k) & (d[None, :] < D)
        v = tl.load(v_ptr + n[:, None] * v_row + d[None, :] * v_col, mask=v_ok, other=0.0)
        acc = acc * correction[:, None]
        acc += tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m_ij
    acc = acc / l[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, acc.to(o_ptr.dtype.element_ty), mask=q_ok)
    tl.store(lse_ptr + rows, m + tl.math.log2(l), mask=rows < S_q)


# INCLUDE: _flash_forward
