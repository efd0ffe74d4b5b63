# label: wrong
# title: strictly before
# says: `cols[None, :] < seen_to[:, None]` hides the query's own key: the mask is j ≤ i + S_k − S_q
# names: the diagonal is hidden

from torch import Tensor


@triton.jit
def flash_forward_causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # query i sees the keys j ≤ i + S_k − S_q; reads K and V only as far as this block's last query sees
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
    ok_q = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=ok_q, other=0.0)
    m = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    seen_to = rows + (S_k - S_q)
    stop = tl.minimum(S_k, tl.program_id(0) * BLOCK_Q + BLOCK_Q + (S_k - S_q))
    for start in range(0, stop, BLOCK_K):
        cols = start + keys
        ok_k = (cols < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=ok_k, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=ok_k, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((cols < S_k)[None, :] & (cols[None, :] < seen_to[:, None]), s, -float("inf"))
        new = tl.maximum(m, tl.max(s, axis=1))
        unit = tl.where(new == -float("inf"), 0.0, new)
        f = tl.exp(m - unit)
        p = tl.exp(s - unit[:, None])
        l = l * f + tl.sum(p, axis=1)
        acc = acc * f[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = new
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty), mask=ok_q)
    tl.store(lse_ptr + rows, m + tl.log(l), mask=rows < S_q)


# INCLUDE: _flash_forward_causal
