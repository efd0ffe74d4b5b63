# label: wrong
# title: alpha on dv and s k queries
# says: two: dV is multiplied by alpha (`gv * alpha`), and the loop over queries ends at S_k.
# names: alpha on dV + loop over S_k

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
    okk, okd = columns < S_k, d < D
    block = okk[:, None] & okd[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=block, other=0.0)
    gk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    gv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for i0 in range(0, S_k, BLOCK_Q):
        i = i0 + queries
        okq = i < S_q
        tile = okq[:, None] & okd[None, :]
        q = tl.load(q_ptr + i[:, None] * q_row + d[None, :] * q_col, mask=tile, other=0.0)
        g = tl.load(do_ptr + i[:, None] * do_row + d[None, :] * do_col, mask=tile, other=0.0)
        lse = tl.load(lse_ptr + i, mask=okq, other=float("inf"))
        delta = tl.load(delta_ptr + i, mask=okq, other=0.0)
        zt = tl.dot(k, tl.trans(q), input_precision="ieee") * alpha  # keys × queries
        pt = tl.exp(zt - lse[None, :])
        gv += tl.dot(pt.to(g.dtype), g, input_precision="ieee")
        dpt = tl.dot(v, tl.trans(g), input_precision="ieee")
        dzt = pt * (dpt - delta[None, :])
        gk += tl.dot(dzt.to(q.dtype), q, input_precision="ieee")
    tl.store(dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, (gk * alpha).to(dk_ptr.dtype.element_ty), mask=block)
    tl.store(dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, (gv * alpha).to(dv_ptr.dtype.element_ty), mask=block)


# INCLUDE: _dkv_kernel
