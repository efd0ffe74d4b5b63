# label: wrong
# title: the reference moves only after a rise of 64
# says: the subtracted reference is moved only where a row's maximum has risen by more than 64, so an
#   exponential may be as large as e^64, which is infinite in fp16.
# names: precision

import torch
import triton
import triton.language as tl
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
    cols_ok = (d < D)[None, :]
    mine = (rows < S_q)[:, None] & cols_ok
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mine, other=0.0)

    ref = tl.full((BLOCK_Q,), -float("inf"), tl.float32)  # what is subtracted; need not be the maximum
    total = tl.zeros((BLOCK_Q,), tl.float32)
    out = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        columns = start + keys
        tile_ok = (columns < S_k)[:, None] & cols_ok
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=tile_ok, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=tile_ok, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((columns < S_k)[None, :], s, -float("inf"))
        highest = tl.max(s, axis=1)
        # any reference is right (section 2), so move it only when e^(s - ref) would become large: e^64 is 6e27
        moved = tl.where(highest > ref + 64.0, highest, ref)
        shrink = tl.exp(ref - moved)
        w = tl.exp(s - moved[:, None])
        total = total * shrink + tl.sum(w, axis=1)
        out = out * shrink[:, None] + tl.dot(w.to(v.dtype), v, input_precision="ieee")
        ref = moved
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col,
             (out / total[:, None]).to(o_ptr.dtype.element_ty), mask=mine)
    tl.store(lse_ptr + rows, ref + tl.log(total), mask=rows < S_q)


# INCLUDE: _flash_forward
