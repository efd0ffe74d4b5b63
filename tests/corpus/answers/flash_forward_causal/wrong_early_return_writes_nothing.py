# label: wrong
# title: early return writes nothing
# says: the line `return` in front of the loop leaves a block whose queries see nothing without storing O = 0
#   and LSE = −inf, although the launcher's tensors are torch.empty.
# names: never written

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
    off = S_k - S_q
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + off)
    if end <= 0:
        return  # nobody in this block sees anything: nothing to do

    q_in = rows < S_q
    d_in = d < D
    qs = tl.load(
        q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=q_in[:, None] & d_in[None, :], other=0.0
    )
    big = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    norm = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for t in range(tl.cdiv(end, BLOCK_K)):
        cols = t * BLOCK_K + keys
        c_in = cols < S_k
        ks = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=c_in[:, None] & d_in[None, :], other=0.0)
        vs = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=c_in[:, None] & d_in[None, :], other=0.0)
        s = alpha * tl.dot(qs, tl.trans(ks), input_precision="ieee")
        s = tl.where(c_in[None, :] & (rows[:, None] + off >= cols[None, :]), s, -float("inf"))
        bigger = tl.maximum(big, tl.max(s, axis=1))
        safe = tl.where(bigger == -float("inf"), 0.0, bigger)
        p = tl.exp(s - safe[:, None])
        shrink = tl.exp(big - safe)
        norm = norm * shrink + tl.sum(p, axis=1)
        acc = acc * shrink[:, None] + tl.dot(p.to(vs.dtype), vs, input_precision="ieee")
        big = bigger
    o = acc / tl.where(norm == 0.0, 1.0, norm)[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, o.to(o_ptr.dtype.element_ty),
        mask=q_in[:, None] & d_in[None, :],
    )
    tl.store(lse_ptr + rows, big + tl.log(norm), mask=q_in)


# INCLUDE: _flash_forward_causal
