# label: wrong
# title: lse padding minus inf
# says: line lse = tl.load(..., other=-inf): the filler makes P infinite for padded queries, and inf * 0 is
#   NaN in every key of the block
# names: zero times inf

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

    kj = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    lane = tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    k_in = kj < S_k
    in_d = d < D
    in_block = k_in[:, None] & in_d[None, :]
    k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start in range(0, S_q, BLOCK_Q):
        qi = start + lane
        q_in = qi < S_q
        in_tile = q_in[:, None] & in_d[None, :]
        q = tl.load(q_ptr + qi[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        do = tl.load(do_ptr + qi[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        lse = tl.load(lse_ptr + qi, mask=q_in, other=-float("inf"))
        dl = tl.load(delta_ptr + qi, mask=q_in, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        gs = p * (dp - dl[:, None])
        dk += tl.dot(tl.trans(gs.to(q.dtype)), q, input_precision="ieee")
    dk *= alpha
    dk_tile = kj[:, None] * dk_row + d[None, :] * dk_col
    dv_tile = kj[:, None] * dv_row + d[None, :] * dv_col
    tl.store(dk_ptr + dk_tile, dk.to(dk_ptr.dtype.element_ty), mask=in_block)
    tl.store(dv_ptr + dv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)


# INCLUDE: _dkv_kernel_3
