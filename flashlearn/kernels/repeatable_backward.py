"""One pass that gives the same bits every time: shares of dQ in memory of their own, then one sum in order.

    >>> dq, dk, dv = determinism(q, k, v, o, do, lse, alpha, causal)

As fused_backward_atomic, where a program owns keys; but instead of adding its share of dQ to memory that all
programs share, it stores it into a part of its own, and a second kernel adds the parts in the order of their
keys. That takes S_k / BLOCK_K times as much memory as dQ in fp32 does, which grows with S². Shapes, strides
and masks are those of fused_backward. The lines between BEGIN and END SOLUTION are lesson 11's exercise.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.reach import refuse_far_rows

__all__ = ["determinism"]


@triton.jit
def one_tile(
    dk, dv, k, v, q, do, lse_ptr, delta_ptr, rows, columns, alpha, S_q, S_k, IS_CAUSAL: tl.constexpr,
):  # fmt: skip
    # what a tile adds to dK and dV, added; and its share of dQ, [BLOCK_Q, BLOCK_D]
    in_queries = rows < S_q
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=float("inf"))
    lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)
    delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
    s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
    seen = (columns < S_k)[None, :]
    if IS_CAUSAL:
        seen = seen & (columns[None, :] <= rows[:, None] + S_k - S_q)
    p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])
    dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
    dp = tl.dot(do, tl.trans(v), input_precision="ieee")
    ds = (p * (dp - delta_i[:, None])).to(q.dtype)
    dk += tl.dot(tl.trans(ds), q, input_precision="ieee")
    return dk, dv, alpha * tl.dot(ds, k, input_precision="ieee")


@triton.jit
def shares_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, shares_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, do_batch, do_head, do_row, do_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, IS_CAUSAL: tl.constexpr,
):  # fmt: skip
    # reads what fused_keys_kernel reads; writes S_q · D numbers of fp32 that nobody else writes
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    head = b * tl.num_programs(1) + h
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    lse_ptr += head * S_q
    delta_ptr += head * S_q
    dk_ptr += head * S_k * D
    dv_ptr += head * S_k * D

    columns = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    queries = tl.arange(0, BLOCK_Q)
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
        in_tile = (rows < S_q)[:, None] & in_d[None, :]
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_tile, other=0.0)
        # the step of fused_keys_kernel: dk and dv have grown; the share of dQ is added to nothing yet
        dk, dv, share = one_tile(
            dk, dv, k, v, q, do, lse_ptr, delta_ptr, rows, columns, alpha, S_q, S_k, IS_CAUSAL
        )  # fmt: skip
        ### BEGIN SOLUTION
        # STUB: tl.static_assert(False, "TODO determinism: store the share in this program's own part")
        # shares are [B, H, blocks of keys, S_q, D]: this program's part, and in it a row is D long
        part = (head * tl.num_programs(0) + tl.program_id(0)) * S_q * D
        tl.store(shares_ptr + part + rows[:, None] * D + d[None, :], share, mask=in_tile)
        ### END SOLUTION
    dkv_tile = columns[:, None] * D + d[None, :]
    tl.store(dk_ptr + dkv_tile, (alpha * dk).to(dk_ptr.dtype.element_ty), mask=in_block)
    tl.store(dv_ptr + dkv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)


@triton.jit
def sum_of_shares_kernel(
    shares_ptr, dq_ptr, S_q, S_k, D,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, IS_CAUSAL: tl.constexpr,
):  # fmt: skip
    # reads the shares of BLOCK_Q rows of dQ, in the order of their keys; writes the rows once
    head = tl.program_id(2).to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    dq_tile = rows[:, None] * D + d[None, :]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO determinism: add the shares of these rows, block after block")
    blocks = tl.cdiv(S_k, BLOCK_K)
    shares_ptr += head * blocks * S_q * D
    in_block = (rows < S_q)[:, None] & (d < D)[None, :]
    wrote = blocks
    if IS_CAUSAL:  # blocks of keys that no query of this block sees have stored nothing here
        unseen_from = tl.maximum(0, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
        wrote = tl.minimum(blocks, tl.cdiv(unseen_from, BLOCK_K))
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for _ in range(0, wrote):
        dq += tl.load(shares_ptr + dq_tile, mask=in_block, other=0.0)
        shares_ptr += S_q * D  # step by step: block · S_q · D may pass 2³¹
    tl.store(dq_ptr + head * S_q * D + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)
    ### END SOLUTION


def determinism(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float, causal: bool,
    block: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """dQ, dK, dV, each in its input's dtype, bit for bit the same whatever order the programs run in."""
    refuse_far_rows(q=q, k=k, v=v, do=do)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    half = q.element_size() == 2
    BLOCK = block or (64 if q.is_cuda and half else 32)
    tile = {"BLOCK_Q": BLOCK, "BLOCK_K": BLOCK, "BLOCK_D": max(16, triton.next_power_of_2(D))}
    blocks = triton.cdiv(S_k, BLOCK)
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO determinism: shares = memory for all shares")
    shares = torch.empty((B, H, blocks, S_q, D), dtype=torch.float32, device=q.device)
    ### END SOLUTION
    shares_kernel[(blocks, H, B)](
        q, k, v, do, lse.contiguous(), delta, shares, dk, dv, alpha, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        **tile, IS_CAUSAL=causal,
        num_warps=4 if half and tile["BLOCK_D"] <= 64 else 8, num_stages=3 if half else 1,
    )  # fmt: skip
    # on one stream a launch waits for the one before: every share is there when the sum begins
    sum_of_shares_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        shares, dq, S_q, S_k, D, **tile, IS_CAUSAL=causal
    )  # fmt: skip
    return dq, dk, dv
