# label: right
# title: keys loaded transposed

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
    i_ok = rows < S_q
    d_ok = d < D
    q = tl.load(
        q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=i_ok[:, None] & d_ok[None, :], other=0.0
    )
    top = tl.zeros((BLOCK_Q,), tl.float32) - float("inf")
    mass = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for t in range(0, tl.cdiv(S_k, BLOCK_K)):
        j = t * BLOCK_K + keys
        j_ok = j < S_k
        kT = tl.load(k_ptr + d[:, None] * k_col + j[None, :] * k_row, mask=d_ok[:, None] & j_ok[None, :], other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=j_ok[:, None] & d_ok[None, :], other=0.0)
        s = tl.dot(q, kT, input_precision="ieee") * alpha + tl.where(j_ok, 0.0, -float("inf"))[None, :]
        higher = tl.maximum(top, tl.max(s, axis=1))
        shrink = tl.exp(top - higher)
        e = tl.exp(s - higher[:, None])
        mass = tl.sum(e, axis=1) + mass * shrink
        out = tl.dot(e.to(v.dtype), v, input_precision="ieee") + out * shrink[:, None]
        top = higher
    out = out * (1.0 / mass)[:, None]
    tl.store(
        o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty),
        mask=i_ok[:, None] & d_ok[None, :],
    )
    tl.store(lse_ptr + rows, tl.log(mass) + top, mask=i_ok)


# INCLUDE: _flash_forward
