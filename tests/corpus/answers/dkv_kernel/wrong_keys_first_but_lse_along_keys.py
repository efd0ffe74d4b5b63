# label: wrong
# title: keys first but lse along keys
# says: the tile is [keys, queries], and `p = tl.exp(s_t - lse_i[:, None])` and the delta line spread the
#   queries' numbers along the keys; it must be [None, :]
# names: delta along the keys + LSE along the keys

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_K rows of K and V and all of Q, dO, lse and delta of its head; writes as many of dK and dV
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
    mine = (columns < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=mine, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=mine, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start in range(0, S_q, BLOCK_Q):
        i = start + queries
        ok = (i < S_q)[:, None] & (d < D)[None, :]
        q = tl.load(q_ptr + i[:, None] * q_row + d[None, :] * q_col, mask=ok, other=0.0)
        do = tl.load(do_ptr + i[:, None] * do_row + d[None, :] * do_col, mask=ok, other=0.0)
        lse_i = tl.load(lse_ptr + i, mask=i < S_q, other=float("inf"))
        delta_i = tl.load(delta_ptr + i, mask=i < S_q, other=0.0)
        s_t = alpha * tl.dot(k, tl.trans(q), input_precision="ieee")  # no transpose of p and ds needed
        p_t = tl.exp(s_t - lse_i[:, None])
        dv = tl.dot(p_t.to(do.dtype), do, dv, input_precision="ieee")
        dp_t = tl.dot(v, tl.trans(do), input_precision="ieee")
        ds_t = p_t * (dp_t - delta_i[:, None])
        dk = tl.dot(ds_t.to(q.dtype), q, dk, input_precision="ieee")
    tl.store(dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, (alpha * dk).to(dk_ptr.dtype.element_ty), mask=mine)
    tl.store(dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, dv.to(dv_ptr.dtype.element_ty), mask=mine)


# INCLUDE: _dkv_kernel
