# part: a text that answers change

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
    # reads BLOCK_Q rows of Q and dO, all of K and V of its head; adds 2 · S_k · D numbers of fp32
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
    dk_ptr += head * S_k * D  # fp32, zero before the first program runs, as is dv
    dv_ptr += head * S_k * D

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)  # this program's queries
    keys = tl.arange(0, BLOCK_K)  # a tile's keys, counted from the tile's first
    d = tl.arange(0, BLOCK_D)
    in_queries, in_d = rows < S_q, d < D
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))  # once, for the whole scan
    lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)
    delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = S_k
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    for start in range(0, end, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK_Q, BLOCK_K)
        seen = in_keys[None, :]
        if IS_CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None] + S_k - S_q)
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = (p * (dp - delta_i[:, None])).to(q.dtype)
        dq += tl.dot(ds, k, input_precision="ieee")
        dv_share = tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")  # (BLOCK_K, BLOCK_D)
        dk_share = alpha * tl.dot(tl.trans(ds), q, input_precision="ieee")
        dkv_tile = columns[:, None] * D + d[None, :]
        tl.atomic_add(dv_ptr + dkv_tile, dv_share, mask=in_tile, sem="relaxed")
        tl.atomic_add(dk_ptr + dkv_tile, dk_share, mask=in_tile, sem="relaxed")
    dq_tile = rows[:, None] * D + d[None, :]
    tl.store(dq_ptr + dq_tile, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=in_block)


# INCLUDE: _fused_backward_rows
