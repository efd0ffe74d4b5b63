# label: wrong
# title: rounded p is summed
# says: the line `p = tl.exp(s - shift[:, None]).to(v.dtype)` rounds P to half precision before `tl.sum(p,
#   axis=1)`, so that l and with it the LSE carry the rounding that should touch only the product.
# names: precision

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
    lane = d < D
    mine = (rows < S_q)[:, None] & lane[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mine, other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.full((BLOCK_Q,), 0.0, tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    else:
        end = S_k
    for start in range(0, end, BLOCK_K):
        j = start + keys
        theirs = (j < S_k)[:, None] & lane[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=theirs, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=theirs, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        allowed = (j < S_k)[None, :]
        if IS_CAUSAL:
            allowed = allowed & (j[None, :] - (S_k - S_q) <= rows[:, None])
        s = tl.where(allowed, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        rescale = tl.exp(m_i - shift)
        p = tl.exp(s - shift[:, None]).to(v.dtype)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p, v, input_precision="ieee")
        m_i = m_new
    o = acc / tl.where(l_i > 0.0, l_i, 1.0)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=mine)
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=rows < S_q)


# INCLUDE: _flash_forward_either
