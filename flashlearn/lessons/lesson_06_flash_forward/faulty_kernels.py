"""Forward kernels that are wrong on purpose: mistakes that a formula in torch cannot make.

One kernel with a named fault and the right answer everywhere else, causal or not. Lesson 06 declares
them with the verdict that they must get; its tests hold the check to it. None of this is ever shown
as a solution.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["FAULTS", "launcher"]

FAULTS = (
    "accumulator in half",
    "keys without a mask",
    "D without a mask",
    "strides of q for k",
    "k not transposed",
    "p in fp16",
    "sum along the queries",
    "mask along the queries",
    "first tile again",
)
BLOCK = 32


@triton.jit
def _kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
    IS_CAUSAL: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    h, b = tl.program_id(1).to(tl.int64), tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    if FAULT == "strides of q for k":
        k_ptr += b * q_batch + h * q_head
        k_row, k_col = q_row, q_col
    else:
        k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys, d = tl.arange(0, BLOCK_K), tl.arange(0, BLOCK_D)
    in_d = d < D if FAULT != "D without a mask" else d < BLOCK_D
    in_q = (rows < S_q)[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_q, other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), q.dtype if FAULT == "accumulator in half" else tl.float32)
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q) if IS_CAUSAL else S_k
    for start in range(0, end, BLOCK_K):
        columns = keys if FAULT == "first tile again" else start + keys
        in_tile = (columns < S_k)[:, None] & in_d[None, :]
        k_tile = k_ptr + columns[:, None] * k_row + d[None, :] * k_col
        k = tl.load(k_tile) if FAULT == "keys without a mask" else tl.load(k_tile, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        if FAULT == "k not transposed":
            s = alpha * tl.dot(q, k, input_precision="ieee")
        else:
            s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = (columns < S_k)[:, None] if FAULT == "mask along the queries" else (columns < S_k)[None, :]
        if IS_CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None] + S_k - S_q)
        s = tl.where(seen, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new) if IS_CAUSAL else m_new
        rescale = tl.exp(m_i - shift)
        p = tl.exp(s - shift[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=0 if FAULT == "sum along the queries" else 1)
        p = p.to(tl.float16) if FAULT == "p in fp16" else p.to(v.dtype)
        acc = (acc * rescale[:, None] + tl.dot(p, v, input_precision="ieee")).to(acc.dtype)
        m_i = m_new
    o = acc / (tl.where(l_i == 0.0, 1.0, l_i) if IS_CAUSAL else l_i)[:, None]
    o_tile = rows[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=in_q)
    tl.store(lse_ptr + (b * H + h) * S_q + rows, m_i + tl.log(l_i), mask=rows < S_q)


def launcher(fault: str, causal: bool = False) -> Callable[..., tuple[Tensor, Tensor]]:
    """A launcher `(q, k, v, alpha) -> (o, lse)` whose kernel has the named fault, one of `FAULTS`."""

    def broken(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
        B, H, S_q, D = q.shape
        S_k = k.shape[2]
        o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
        lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
        _kernel[(triton.cdiv(S_q, BLOCK), H, B)](
            q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
            BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
            IS_CAUSAL=causal, FAULT=fault,
        )  # fmt: skip
        return o, lse

    return broken
