# label: wrong
# title: dO's pointers move by Q's row stride
# says: in the loop dO's pointers are advanced by BLOCK_Q rows of Q; each input may have its own strides.
# names: out_of_bounds

import torch
import triton
import triton.language as tl
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

    corner = tl.program_id(0) * BLOCK_K
    columns = corner + tl.arange(0, BLOCK_K)
    queries = tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    real_key = columns < S_k
    real_d = d < D
    mine = real_key[:, None] & real_d[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=mine, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=mine, other=0.0)

    shift = S_k - S_q
    begin = 0
    if IS_CAUSAL:
        begin = tl.maximum(corner - shift, 0) // BLOCK_Q * BLOCK_Q
    # the pointers walk down with the loop, so no multiplication is left in it
    q_at = q_ptr + (begin + queries)[:, None] * q_row + d[None, :] * q_col
    do_at = do_ptr + (begin + queries)[:, None] * do_row + d[None, :] * do_col
    dq_at = dq_ptr + (begin + queries)[:, None] * D + d[None, :]

    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for start in range(begin, S_q, BLOCK_Q):
        rows = start + queries
        real_row = rows < S_q
        tile = real_row[:, None] & real_d[None, :]
        q = tl.load(q_at, mask=tile, other=0.0)
        do = tl.load(do_at, mask=tile, other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=real_row, other=float("inf"))
        lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # saw nothing: P is 0
        delta_i = tl.load(delta_ptr + rows, mask=real_row, other=0.0)

        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(real_key[None, :], s, -float("inf"))
        if IS_CAUSAL:
            s = tl.where(columns[None, :] <= rows[:, None] + shift, s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = (p * (dp - delta_i[:, None])).to(k.dtype)
        dk += tl.dot(tl.trans(ds), q, input_precision="ieee")
        share = alpha * tl.dot(ds, k, input_precision="ieee")
        tl.atomic_add(dq_at, share, mask=tile, sem="relaxed")

        q_at += BLOCK_Q * q_row
        do_at += BLOCK_Q * q_row
        dq_at += BLOCK_Q * D

    out = columns[:, None] * D + d[None, :]
    tl.store(dk_ptr + out, (alpha * dk).to(dk_ptr.dtype.element_ty), mask=mine)
    tl.store(dv_ptr + out, dv.to(dv_ptr.dtype.element_ty), mask=mine)


# INCLUDE: _fused_backward_atomic
