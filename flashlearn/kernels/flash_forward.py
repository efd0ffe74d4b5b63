"""FlashAttention's forward pass, plain: one program per block of queries, K and V scanned in blocks.

Follows Algorithm 1 of FlashAttention-2 (Dao, 2023), with the softmax scale `alpha` applied to S and
the logsumexp kept in natural log: LSE_i = m_i + log l_i. Lesson 06 derives it; until then it serves
as the yardstick of `make bench`.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def flash_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, stride_head_q, stride_head_k, S_q, S_k,
    D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    head = tl.program_id(1).to(tl.int64)  # head · stride may pass 2^31 elements
    d = tl.arange(0, D)
    in_queries = rows < S_q
    q_tile = rows[:, None] * D + d[None, :]
    q = tl.load(q_ptr + head * stride_head_q + q_tile, mask=in_queries[:, None], other=0.0)
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
    l_i = tl.zeros((BLOCK_Q,), tl.float32)
    acc = tl.zeros((BLOCK_Q, D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        columns = start + tl.arange(0, BLOCK_K)
        in_keys = columns < S_k
        kv_tile = head * stride_head_k + columns[:, None] * D + d[None, :]
        k = tl.load(k_ptr + kv_tile, mask=in_keys[:, None], other=0.0)
        v = tl.load(v_ptr + kv_tile, mask=in_keys[:, None], other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))  # a padded key gets probability 0
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        rescale = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * rescale + tl.sum(p, axis=1)
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    o = acc / l_i[:, None]
    tl.store(o_ptr + head * stride_head_q + q_tile, o.to(o_ptr.dtype.element_ty), mask=in_queries[:, None])
    tl.store(lse_ptr + head * S_q + rows, m_i + tl.log(l_i), mask=in_queries)


def flash_forward(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, alpha: float, block: int = 32
) -> tuple[torch.Tensor, torch.Tensor]:
    """O [B, H, S_q, D] and LSE [B, H, S_q] (fp32) of contiguous q, k, v; D a power of two ≥ 16, S_k ≥ 1."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty_like(q)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    flash_forward_kernel[(triton.cdiv(S_q, block), B * H)](
        q, k, v, o, lse, alpha, S_q * D, S_k * D, S_q, S_k, D=D, BLOCK_Q=block, BLOCK_K=block
    )
    return o, lse
