# label: wrong
# title: tile numbers and alpha twice
# says: two: the mask compares columns with queries (counted from the tile) + shift instead of rows (counted
#   from the head), and q is scaled by alpha at the load and dk by alpha again at the end, so dK carries alpha
#   twice.
# names: one edit

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
    lanes = d[None, :] < D
    owned = (columns[:, None] < S_k) & lanes
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=owned, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=owned, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    shift = S_k - S_q
    begin = tl.maximum(0, tl.program_id(0) * BLOCK_K - shift) // BLOCK_Q * BLOCK_Q
    for start in range(begin, S_q, BLOCK_Q):
        rows = start + queries
        real = rows < S_q
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=real[:, None] & lanes, other=0.0)
        q = (q * alpha).to(q_ptr.dtype.element_ty)  # scale the small tile once, not the scores
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=real[:, None] & lanes, other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=real, other=float("inf"))
        lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)
        delta_i = tl.load(delta_ptr + rows, mask=real, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(columns[None, :] <= queries[:, None] + shift, s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    dk *= alpha
    tl.store(dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, dk.to(dk_ptr.dtype.element_ty), mask=owned)
    tl.store(dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, dv.to(dv_ptr.dtype.element_ty), mask=owned)


# INCLUDE: _dkv_kernel_causal_2
