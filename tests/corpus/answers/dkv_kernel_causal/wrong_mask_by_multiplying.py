# label: wrong
# title: mask by multiplying
# says: p = keep * tl.exp(s - lse_i) masks by multiplying with 0: for a query that sees nothing LSE is -inf,
#   exp is inf and 0 · inf = NaN in every key of the block (no guard; the mask must be a tl.where, or go into
#   s, with LSE guarded).
# names: zero times inf

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # key j is seen by the queries i ≥ j − (S_k − S_q); reads Q and dO from the first that sees this block
    h = tl.program_id(1).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += (b * H + h) * S_q  # lse and delta are contiguous, [B, H, S_q]
    delta_ptr += (b * H + h) * S_q

    columns = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)  # this program's keys
    queries = tl.arange(0, BLOCK_Q)  # a tile's queries, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    in_block = (columns < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q))
    for start in range((first // BLOCK_Q) * BLOCK_Q, S_q, BLOCK_Q):
        rows = start + queries
        in_queries = rows < S_q
        in_tile = in_queries[:, None] & (d < D)[None, :]
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        # the mask as ones and zeros: a hidden pair, and with it a row that sees nothing, is multiplied away
        keep = (columns[None, :] <= rows[:, None] + (S_k - S_q)).to(tl.float32)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = keep * tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    dk *= alpha
    tl.store(dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, dk.to(dk_ptr.dtype.element_ty), mask=in_block)
    tl.store(dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, dv.to(dv_ptr.dtype.element_ty), mask=in_block)


# INCLUDE: _dkv_kernel_causal_2
