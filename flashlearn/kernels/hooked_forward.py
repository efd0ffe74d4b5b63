"""FlashAttention's forward pass with hooks: lesson 06's kernel, in which a variant says what differs.

    >>> o, lse = hooked_forward(q, k, v, 0.25, Hooks(mask=causal_mask, keys=causal_keys))

Tensors are [B, H, S, D] of any strides, K and V with H_k heads, within flash_forward's limits. A query that
sees no key has O = 0 and LSE = −inf. Sequences of several lengths lie one after another along S of a single
batch (`sequence` says where), and `lengths` gives their number and the most queries and keys of one.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.hooks import PLAIN, Hooks

__all__ = ["hooked_forward"]


@triton.jit
def hooked_forward_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, alpha, H, H_k, S_q, S_k, D, extras,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, o_batch, o_head, o_row, o_col, lse_batch, lse_head,
    SCORE: tl.constexpr, MASK: tl.constexpr, KEYS: tl.constexpr, WEIGHTS: tl.constexpr, START: tl.constexpr,
    SEQUENCE: tl.constexpr, QUERY_BLOCK: tl.constexpr, KEY_HEAD: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # reads BLOCK_Q rows of Q and the rows of K and V that KEYS names; writes as many rows of O and of LSE
    LOG2E: tl.constexpr = 1.4426950408889634
    h = tl.program_id(1).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    block, b = QUERY_BLOCK(tl.program_id(0), tl.program_id(2).to(tl.int64), extras)
    h_k = KEY_HEAD(h, H, H_k)
    row_0, key_0, S_q, S_k = SEQUENCE(b, S_q, S_k, extras)
    q_ptr += b * q_batch + h * q_head + row_0 * q_row
    k_ptr += b * k_batch + h_k * k_head + key_0 * k_row
    v_ptr += b * v_batch + h_k * v_head + key_0 * v_row
    o_ptr += b * o_batch + h * o_head + row_0 * o_row
    lse_ptr += b * lse_batch + h * lse_head + row_0

    first = block * BLOCK_Q
    rows = first + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    in_queries = rows < S_q
    in_d = d < D
    q_tile = rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + q_tile, mask=in_queries[:, None] & in_d[None, :], other=0.0)
    m_0, l_0 = START(b, h, extras)
    m_i = tl.zeros((BLOCK_Q,), tl.float32) + m_0
    l_i = tl.zeros((BLOCK_Q,), tl.float32) + l_0
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    begin, end = KEYS(first, tl.minimum(first + BLOCK_Q, S_q) - 1, S_q, S_k, extras)
    if first >= S_q:  # a shorter sequence ends before this block
        end = begin
    for start in range(begin // BLOCK_K * BLOCK_K, end, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        i, j = rows[:, None], columns[None, :]
        x = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK_Q, BLOCK_K)
        s = SCORE(x, b, h, i, j, S_q, S_k, extras)
        seen = in_keys[None, :] & MASK(b, h, i, j, S_q, S_k, extras)
        s = tl.where(seen, s, -float("inf"))  # after SCORE: nothing may bring a hidden key back
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
        rescale = tl.exp(m_i - shift)
        p = tl.exp2((s - shift[:, None]) * LOG2E)
        l_i = l_i * rescale + tl.sum(p, axis=1)
        p = WEIGHTS(p, b, h, i, j, S_q, S_k, extras)  # after the sum: the weights are no part of the softmax
        acc = acc * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_new
    o = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]  # a query that saw nothing: 0 / 1
    o_tile = rows[:, None] * o_row + d[None, :] * o_col
    tl.store(o_ptr + o_tile, o.to(o_ptr.dtype.element_ty), mask=in_queries[:, None] & in_d[None, :])
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)


def hooked_forward(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, hooks: Hooks = PLAIN, block: int | None = None,
    lengths: tuple[int, int, int] | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; `lengths` as for `sequences_of`."""
    _, H, rows, D = q.shape
    o = torch.empty((q.shape[0], H, rows, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((q.shape[0], H, rows), dtype=torch.float32, device=q.device)
    B, S_q, S_k = sequences_of(q, k, lengths)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    hooked_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, k.shape[1], S_q, S_k, D, hooks.extras,
        *(stride for t in (q, k, v, o) for stride in strides_of(t, lengths)), *strides_of(lse, lengths)[:2],
        SCORE=hooks.score, MASK=hooks.mask, KEYS=hooks.keys, WEIGHTS=hooks.weights, START=hooks.start,
        SEQUENCE=hooks.sequence, QUERY_BLOCK=hooks.query_block, KEY_HEAD=hooks.key_head,
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D,
    )  # fmt: skip
    return o, lse


def sequences_of(q: Tensor, k: Tensor, lengths: tuple[int, int, int] | None) -> tuple[int, int, int]:
    """B, S_q and S_k of the launch: those of the tensors, or the number of sequences and the longest's."""
    return lengths or (q.shape[0], q.shape[2], k.shape[2])


def strides_of(t: Tensor, lengths: tuple[int, int, int] | None) -> tuple[int, ...]:
    """A tensor's strides; sequences that lie one after another are all in one batch."""
    return t.stride() if lengths is None else (0, *t.stride()[1:])
