# label: wrong
# title: masked like queries
# says: lines tl.atomic_add(..., mask=in_block): the tiles of keys are added under the mask of the queries, so
#   keys are lost or padded keys written wherever the two blocks are not full alike
# names: out_of_bounds

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.reach import refuse_far_rows


@triton.jit
def fused_rows_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, do_batch, do_head, do_row, do_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, IS_CAUSAL: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    head = b * tl.num_programs(1) + h
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    lse_ptr += head * S_q
    delta_ptr += head * S_q
    dq_ptr += head * S_q * D
    dk_ptr += head * S_k * D
    dv_ptr += head * S_k * D

    qi = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    q_in, in_d = qi < S_q, d < D
    in_block = q_in[:, None] & in_d[None, :]
    q = tl.load(q_ptr + qi[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + qi[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse = tl.load(lse_ptr + qi, mask=q_in, other=float("inf"))
    lse = tl.where(lse == -float("inf"), float("inf"), lse)
    dlt = tl.load(delta_ptr + qi, mask=q_in, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = S_k
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    for start in range(0, end, BLOCK_K):
        kj = start + keys
        k_in = kj < S_k
        in_tile = k_in[:, None] & in_d[None, :]
        k = tl.load(k_ptr + kj[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + kj[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = k_in[None, :]
        if IS_CAUSAL:
            seen = seen & (kj[None, :] <= qi[:, None] + S_k - S_q)
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = (p * (dp - dlt[:, None])).to(q.dtype)
        dq += tl.dot(ds, k, input_precision="ieee")
        dv_share = tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dk_share = alpha * tl.dot(tl.trans(ds), q, input_precision="ieee")
        dkv_tile = kj[:, None] * D + d[None, :]
        tl.atomic_add(dv_ptr + dkv_tile, dv_share, mask=in_block, sem="relaxed")
        tl.atomic_add(dk_ptr + dkv_tile, dk_share, mask=in_block, sem="relaxed")
    dq_tile = qi[:, None] * D + d[None, :]
    tl.store(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)


# INCLUDE: _fused_backward_rows
