"""A dQ kernel that is right but for the fault that `FAULT` names, what no formula in torch can say.

Lesson 07 declares "strides of q" and "no mask" as mistakes. "delta in the loop" is right and wasteful, and
"cast to fp16" right for fp16 alone: the lesson's text runs both.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess

__all__ = ["faulty_dq"]


@triton.jit
def _dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, o_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, o_batch, o_head, o_row, o_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
    IS_CAUSAL: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    in_queries, in_d = rows < S_q, d < D
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=0.0)
    lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)
    delta_i = tl.zeros((BLOCK_Q,), tl.float32)
    if FAULT != "delta in the loop":
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = S_k
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    for start in range(0, end, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k_ptrs = k_ptr + columns[:, None] * k_row + d[None, :] * k_col
        if FAULT == "strides of q":
            k_ptrs = k_ptr - b * k_batch - h * k_head + b * q_batch + h * q_head
            k_ptrs += columns[:, None] * q_row + d[None, :] * q_col
        if FAULT == "no mask":
            k = tl.where(in_tile, tl.load(k_ptrs), 0.0)
        else:
            k = tl.load(k_ptrs, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        if IS_CAUSAL:
            s = tl.where(columns[None, :] <= rows[:, None] + S_k - S_q, s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        if FAULT == "delta in the loop":
            o_ptrs = o_ptr + b * o_batch + h * o_head + rows[:, None] * o_row + d[None, :] * o_col
            o = tl.load(o_ptrs, mask=in_block, other=0.0)
            delta_i = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
        ds = p * (dp - delta_i[:, None])
        ds = ds.to(tl.float16 if FAULT == "cast to fp16" else k.dtype)
        dq += tl.dot(ds, k, input_precision="ieee")
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col,
        (alpha * dq).to(dq_ptr.dtype.element_ty),
        mask=in_block,
    )


def faulty_dq(fault: str, causal: bool = False) -> Callable[..., Tensor]:
    """The launcher of the kernel with one fault; "" is the right one."""

    def launcher(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float) -> Tensor:
        B, H, S_q, D = q.shape
        S_k = k.shape[2]
        delta = lse if fault == "delta in the loop" else delta_preprocess(o, do)
        dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
        _dq_kernel[(triton.cdiv(S_q, 32), H, B)](
            q, k, v, do, lse.contiguous(), o, delta, dq, alpha, H, S_q, S_k, D,
            *q.stride(), *k.stride(), *v.stride(), *do.stride(), *o.stride(), *dq.stride(),
            BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)), IS_CAUSAL=causal, FAULT=fault,
        )  # fmt: skip
        return dq

    return launcher
