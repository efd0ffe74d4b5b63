"""The forward pass with and without a causal mask in one kernel: lesson 06's stretch.

    >>> o, lse = flash_forward_either(q, k, v, alpha, causal=True)

`IS_CAUSAL` is a constant of the compiler: what is under it is not in the variant that has no mask. The
lines between BEGIN and END SOLUTION are the exercise.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["flash_forward_either"]


@triton.jit
def flash_forward_either_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col,
    IS_CAUSAL: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # if IS_CAUSAL, query i sees the keys j ≤ i + S_k − S_q, else all of them
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    o_ptr += b * o_batch + h * o_head
    lse_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO flash_forward_either: one kernel, its end and mask by IS_CAUSAL")
    LOG2E: tl.constexpr = 1.4426950408889634
    in_queries = rows < S_q
    in_d = d < D
    q_tile = rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=in_queries[:, None] & in_d[None, :], other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    end = S_k
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # past what the last query sees
    for start in range(0, end, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        if IS_CAUSAL:
            s = tl.where(columns[None, :] <= rows[:, None] + S_k - S_q, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        shift = m_new
        if IS_CAUSAL:  # nothing seen yet: -inf + inf would be NaN
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        rescale = tl.exp(m_i - shift)
        p = tl.exp2((s - shift[:, None]) * LOG2E)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    divisor = l_i
    if IS_CAUSAL:
        divisor = tl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    o = acc / divisor[:, None]
    o_tile = rows[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=in_queries[:, None] & in_d[None, :])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)  # -inf + log 0 = -inf
    ### END SOLUTION


def flash_forward_either(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; `causal` hides later keys, bottom-right."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_forward_either_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        IS_CAUSAL=causal, BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )  # fmt: skip
    return o, lse
