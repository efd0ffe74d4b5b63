"""A dK/dV kernel that is right but for the fault that `FAULT` names, what no formula in torch can say.

Lesson 08 declares "strides of q" and "no mask" as mistakes, and its text runs the other three to see which
way of filling padded queries leaks.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess

__all__ = ["faulty_dkv"]


@triton.jit
def _dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
    IS_CAUSAL: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    if FAULT == "strides of q":
        k_ptr += b * (q_batch - k_batch) + h * (q_head - k_head)
        k_row, k_col = q_row, q_col
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q
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
        in_queries = rows < S_q
        lse_filler = float("inf")
        if FAULT == "LSE filled with 0":
            lse_filler = 0.0
        if FAULT == "LSE filled with -inf":
            lse_filler = -float("inf")
        if FAULT == "clamped rows":  # no lane is out of bounds, so none is masked
            rows = tl.minimum(rows, S_q - 1)
            in_queries = rows >= 0
        in_tile = in_queries[:, None] & in_d[None, :]
        do_ptrs = do_ptr + rows[:, None] * do_row + d[None, :] * do_col
        q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_tile, other=0.0)
        if FAULT == "no mask":
            do = tl.where(in_tile, tl.load(do_ptrs), 0.0)
        else:
            do = tl.load(do_ptrs, mask=in_tile, other=0.0)
        lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=lse_filler)
        if IS_CAUSAL:
            lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)
        delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        if IS_CAUSAL:
            s = tl.where(columns[None, :] <= rows[:, None] + S_k - S_q, s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(
        dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col,
        (alpha * dk).to(dk_ptr.dtype.element_ty),
        mask=in_block,
    )
    tl.store(
        dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col,
        dv.to(dv_ptr.dtype.element_ty),
        mask=in_block,
    )


def faulty_dkv(fault: str, causal: bool = False) -> Callable[..., tuple[Tensor, Tensor]]:
    """The launcher of the kernel with one fault; "" is the right one."""

    def launcher(
        q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float
    ) -> tuple[Tensor, Tensor]:
        B, H, S_q, D = q.shape
        S_k = k.shape[2]
        delta = delta_preprocess(o, do)
        dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
        dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
        _dkv_kernel[(triton.cdiv(S_k, 32), H, B)](
            q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
            *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
            BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)), IS_CAUSAL=causal, FAULT=fault,
        )  # fmt: skip
        return dk, dv

    return launcher
