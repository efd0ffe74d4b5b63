# label: wrong
# title: start with the wrong sign
# says: two mistakes: `first` adds S_k - S_q where it has to be subtracted, so the walk begins at the wrong
#   query unless S_q = S_k, and lse = -inf of a query that sees nothing has no guard (-inf + inf is NaN)
# names: last tile missing

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
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    columns = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    queries = tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    k_ok = columns < S_k
    d_ok = d < D
    own = k_ok[:, None] & d_ok[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=own, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=own, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    first = tl.maximum(tl.program_id(0) * BLOCK_K + (S_k - S_q), 0)
    for i0 in range(first // BLOCK_Q * BLOCK_Q, S_q, BLOCK_Q):
        i = i0 + queries
        i_ok = i < S_q
        tile_ok = i_ok[:, None] & d_ok[None, :]
        q = tl.load(q_ptr + i[:, None] * q_row + d[None, :] * q_col, mask=tile_ok, other=0.0)
        do = tl.load(do_ptr + i[:, None] * do_row + d[None, :] * do_col, mask=tile_ok, other=0.0)
        lse = tl.load(lse_ptr + i, mask=i_ok, other=float("inf"))
        delta = tl.load(delta_ptr + i, mask=i_ok, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        s = tl.where(columns[None, :] - (S_k - S_q) <= i[:, None], s, -float("inf"))
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    dk *= alpha
    tl.store(dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, dk.to(dk_ptr.dtype.element_ty), mask=own)
    tl.store(dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, dv.to(dv_ptr.dtype.element_ty), mask=own)


# INCLUDE: _dkv_kernel_causal
