# label: right
# title: everything transposed

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
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
    in_keys = columns < S_k
    in_d = d < D
    in_block = in_keys[:, None] & in_d[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start in range(0, S_q, BLOCK_Q):
        rows = start + queries
        in_queries = rows < S_q
        in_tile = in_queries[:, None] & in_d[None, :]
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(k, tl.trans(q), input_precision="ieee")
        p = tl.exp(s - lse_i[None, :])
        dv += tl.dot(p.to(do.dtype), do, input_precision="ieee")
        dp = tl.dot(v, tl.trans(do), input_precision="ieee")
        ds = p * (dp - delta_i[None, :])
        dk += tl.dot(ds.to(q.dtype), q, input_precision="ieee")
    dk *= alpha
    dk_tile = columns[:, None] * dk_row + d[None, :] * dk_col
    dv_tile = columns[:, None] * dv_row + d[None, :] * dv_col
    tl.store(dk_ptr + dk_tile, dk.to(dk_ptr.dtype.element_ty), mask=in_block)
    tl.store(dv_ptr + dv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)


# INCLUDE: _dkv_kernel_3
