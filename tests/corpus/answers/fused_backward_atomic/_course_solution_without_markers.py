# part: a text that answers change

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.reach import refuse_far_rows


@triton.jit
def fused_keys_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, do_batch, do_head, do_row, do_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, IS_CAUSAL: tl.constexpr,
):
    # reads BLOCK_K rows of K and V, all of Q and dO of its head; adds S_q · D numbers of fp32 to dQ
    h = tl.program_id(1).to(tl.int64)  # from head to head 64 bits; within one, 32 do
    b = tl.program_id(2).to(tl.int64)
    head = b * tl.num_programs(1) + h
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    lse_ptr += head * S_q  # what the launcher allocated is contiguous: S_q numbers, or rows of D
    delta_ptr += head * S_q
    dq_ptr += head * S_q * D  # fp32, zero before the first program runs
    dk_ptr += head * S_k * D
    dv_ptr += head * S_k * D

    columns = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)  # this program's keys
    queries = tl.arange(0, BLOCK_Q)  # a tile's queries, counted from the tile's first
    d = tl.arange(0, BLOCK_D)
    in_keys, in_d = columns < S_k, d < D
    in_block = in_keys[:, None] & in_d[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    first = 0
    if IS_CAUSAL:
        first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q)) // BLOCK_Q * BLOCK_Q
    for start in range(first, S_q, BLOCK_Q):
        rows = start + queries
        in_queries = rows < S_q
        in_tile = in_queries[:, None] & in_d[None, :]
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))  # padding: P = 0 in dK, dV
        lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # saw no key: P = 0 as well
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK_Q, BLOCK_K)
        seen = in_keys[None, :]  # a padded key's P may be infinite, and ∞ · 0 would reach dQ
        if IS_CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None] + S_k - S_q)
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = (p * (dp - delta_i[:, None])).to(q.dtype)
        dk += tl.dot(tl.trans(ds), q, input_precision="ieee")
        share = alpha * tl.dot(ds, k, input_precision="ieee")  # of dQ: other programs have the rest
        dq_tile = rows[:, None] * D + d[None, :]
        tl.atomic_add(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")
    dkv_tile = columns[:, None] * D + d[None, :]
    tl.store(dk_ptr + dkv_tile, (alpha * dk).to(dk_ptr.dtype.element_ty), mask=in_block)
    tl.store(dv_ptr + dkv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)


# INCLUDE: _fused_backward_atomic
