# label: wrong
# title: end of first query
# says: line end = ... tl.program_id(0) * BLOCK_Q + 1 ...: the loop ends where the first query of the block
#   sees its last key, the later queries of the block lose keys
# names: last tile missing; loop ends with the first query

from torch import Tensor


@triton.jit
def flash_forward_causal_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    lane = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    LOG2E: tl.constexpr = 1.4426950408889634
    q_in = qi < S_q
    in_d = d < D
    q_tile = qi[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=q_in[:, None] & in_d[None, :], other=0.0)
    mx = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    sm = tl.zeros((BLOCK_Q,), tl.float32)
    o_acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    last_seen = qi + S_k - S_q
    end = tl.minimum(S_k, tl.program_id(0) * BLOCK_Q + 1 + S_k - S_q)
    for start in range(0, end, BLOCK_K):
        kj = start + lane
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = k_in[None, :] & (kj[None, :] <= last_seen[:, None])
        s = tl.where(seen, s, -float("inf"))
        mx2 = tl.maximum(mx, tl.max(s, axis=1))
        shift = tl.where(mx2 == -float("inf"), 0.0, mx2)
        rescale = tl.exp(mx - shift)
        p = tl.exp2((s - shift[:, None]) * LOG2E)
        sm = sm * rescale + tl.sum(p, axis=1)
        o_acc = o_acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        mx = mx2
    o = o_acc / tl.where(sm == 0.0, 1.0, sm)[:, None]
    o_tile = qi[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=q_in[:, None] & in_d[None, :])
    tl.store(lse_ptr + qi, mx + tl.log(sm), mask=q_in)


# INCLUDE: _flash_forward_causal
