"""FlashAttention's backward pass with hooks: kernels of lessons 07 and 08, of which a variant changes parts.

    >>> dq, dk, dv = hooked_backward(q, k, v, o, do, lse, 0.25, Hooks(mask=causal_mask, keys=causal_keys))

The hooks are those of the forward pass, whose o and lse it takes. P = exp(S − LSE) is rebuilt with the same
score and the same mask; the derivative of the score multiplies dS, and the weights that V met multiply dP.
Tensors are as in `hooked_forward`.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.hooked_forward import sequences_of, strides_of
from flashlearn.kernels.hooks import PLAIN, Hooks

__all__ = ["hooked_backward"]


@triton.jit
def hooked_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, H_k, S_q, S_k, D, extras,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col, lse_batch, lse_head,
    SCORE: tl.constexpr, SCORE_GRADIENT: tl.constexpr, MASK: tl.constexpr, KEYS: tl.constexpr,
    WEIGHTS: tl.constexpr, SEQUENCE: tl.constexpr, QUERY_BLOCK: tl.constexpr, KEY_HEAD: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # reads BLOCK_Q rows of Q and dO and the rows of K and V that KEYS names; writes as many rows of dQ
    h = tl.program_id(1).to(tl.int64)
    block, b = QUERY_BLOCK(tl.program_id(0), tl.program_id(2).to(tl.int64), extras)
    h_k = KEY_HEAD(h, H, H_k)
    row_0, key_0, S_q, S_k = SEQUENCE(b, S_q, S_k, extras)
    q_ptr += b * q_batch + h * q_head + row_0 * q_row
    k_ptr += b * k_batch + h_k * k_head + key_0 * k_row
    v_ptr += b * v_batch + h_k * v_head + key_0 * v_row
    do_ptr += b * do_batch + h * do_head + row_0 * do_row
    dq_ptr += b * dq_batch + h * dq_head + row_0 * dq_row
    lse_ptr += b * lse_batch + h * lse_head + row_0
    delta_ptr += b * lse_batch + h * lse_head + row_0

    first = block * BLOCK_Q
    rows = first + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    in_queries = rows < S_q
    in_d = d < D
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=0.0)
    lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # saw no key: P = 0
    delta_i = tl.load(delta_ptr + rows, mask=in_queries, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    begin, end = KEYS(first, tl.minimum(first + BLOCK_Q, S_q) - 1, S_q, S_k, extras)
    if first >= S_q:
        end = begin
    for start in range(begin // BLOCK_K * BLOCK_K, end, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        i, j = rows[:, None], columns[None, :]
        x = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = SCORE(x, b, h, i, j, S_q, S_k, extras)
        seen = in_keys[None, :] & MASK(b, h, i, j, S_q, S_k, extras)
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])
        dp = WEIGHTS(tl.dot(do, tl.trans(v), input_precision="ieee"), b, h, i, j, S_q, S_k, extras)
        ds = p * (dp - delta_i[:, None])
        dx = SCORE_GRADIENT(ds, x, s, b, h, i, j, S_q, S_k, extras)
        dq += tl.dot(dx.to(k.dtype), k, input_precision="ieee")
    dq *= alpha
    dq_tile = rows[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)


@triton.jit
def hooked_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, H_k, S_q, S_k, D, extras,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    lse_batch, lse_head,
    SCORE: tl.constexpr, SCORE_GRADIENT: tl.constexpr, MASK: tl.constexpr, QUERIES: tl.constexpr,
    WEIGHTS: tl.constexpr, SEQUENCE: tl.constexpr, KEY_BLOCK: tl.constexpr, QUERY_HEADS: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # a head of K and V: reads BLOCK_K rows of each, and of every head of Q that meets it the rows of Q, dO,
    # LSE and delta that QUERIES names; writes as many rows of dK and dV
    h_k = tl.program_id(1).to(tl.int64)
    block, b = KEY_BLOCK(tl.program_id(0), tl.program_id(2).to(tl.int64), extras)
    row_0, key_0, S_q, S_k = SEQUENCE(b, S_q, S_k, extras)
    k_ptr += b * k_batch + h_k * k_head + key_0 * k_row
    v_ptr += b * v_batch + h_k * v_head + key_0 * v_row
    dk_ptr += b * dk_batch + h_k * dk_head + key_0 * dk_row
    dv_ptr += b * dv_batch + h_k * dv_head + key_0 * dv_row
    q_ptr += b * q_batch + row_0 * q_row
    do_ptr += b * do_batch + row_0 * do_row
    lse_ptr += b * lse_batch + row_0
    delta_ptr += b * lse_batch + row_0

    first = block * BLOCK_K
    columns = first + tl.arange(0, BLOCK_K)
    queries = tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    in_keys = columns < S_k
    in_d = d < D
    in_block = in_keys[:, None] & in_d[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_block, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_block, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    begin, end = QUERIES(first, tl.minimum(first + BLOCK_K, S_k) - 1, S_q, S_k, extras)
    if first >= S_k:
        end = begin
    first_head, end_head, step = QUERY_HEADS(h_k, H, H_k)
    for h in range(first_head, end_head, step):  # every head of Q that meets these keys adds its share
        for start in range(begin // BLOCK_Q * BLOCK_Q, end, BLOCK_Q):
            rows = start + queries
            in_queries = rows < S_q
            in_tile = in_queries[:, None] & in_d[None, :]
            q_tile = h * q_head + rows[:, None] * q_row + d[None, :] * q_col
            do_tile = h * do_head + rows[:, None] * do_row + d[None, :] * do_col
            q = tl.load(q_ptr + q_tile, mask=in_tile, other=0.0)
            do = tl.load(do_ptr + do_tile, mask=in_tile, other=0.0)
            lse_i = tl.load(lse_ptr + h * lse_head + rows, mask=in_queries, other=float("inf"))
            lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # saw no key: P = 0, as for padding
            delta_i = tl.load(delta_ptr + h * lse_head + rows, mask=in_queries, other=0.0)
            i, j = rows[:, None], columns[None, :]
            x = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
            s = SCORE(x, b, h, i, j, S_q, S_k, extras)
            seen = in_keys[None, :] & MASK(b, h, i, j, S_q, S_k, extras)
            p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])
            weights = WEIGHTS(p, b, h, i, j, S_q, S_k, extras)
            dv += tl.dot(tl.trans(weights.to(do.dtype)), do, input_precision="ieee")
            dp = WEIGHTS(tl.dot(do, tl.trans(v), input_precision="ieee"), b, h, i, j, S_q, S_k, extras)
            ds = p * (dp - delta_i[:, None])
            dx = SCORE_GRADIENT(ds, x, s, b, h, i, j, S_q, S_k, extras)
            dk += tl.dot(tl.trans(dx.to(q.dtype)), q, input_precision="ieee")
    dk *= alpha
    dk_tile = columns[:, None] * dk_row + d[None, :] * dk_col
    dv_tile = columns[:, None] * dv_row + d[None, :] * dv_col
    tl.store(dk_ptr + dk_tile, dk.to(dk_ptr.dtype.element_ty), mask=in_block)
    tl.store(dv_ptr + dv_tile, dv.to(dv_ptr.dtype.element_ty), mask=in_block)


def hooked_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float, hooks: Hooks = PLAIN,
    block: int | None = None, lengths: tuple[int, int, int] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """dQ, dK and dV, each like its tensor; `hooks` and `lengths` are those of the forward pass."""
    dq, dk, dv = (torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v))
    delta, lse = delta_preprocess(o, do), lse.contiguous()
    H, D = q.shape[1], q.shape[3]
    B, S_q, S_k = sequences_of(q, k, lengths)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    sizes = {"BLOCK_Q": BLOCK, "BLOCK_K": BLOCK, "BLOCK_D": max(16, triton.next_power_of_2(D))}
    shared = {
        "SCORE": hooks.score, "SCORE_GRADIENT": hooks.score_gradient, "MASK": hooks.mask,
        "WEIGHTS": hooks.weights, "SEQUENCE": hooks.sequence, **sizes, "num_stages": 2,
    }  # fmt: skip

    def strides(*tensors: Tensor) -> list[int]:
        of_each = [stride for t in tensors for stride in strides_of(t, lengths)]
        return [*of_each, *strides_of(lse, lengths)[:2]]

    scalars = alpha, H, k.shape[1], S_q, S_k, D, hooks.extras
    hooked_dq_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse, delta, dq, *scalars, *strides(q, k, v, do, dq),
        KEYS=hooks.keys, QUERY_BLOCK=hooks.query_block, KEY_HEAD=hooks.key_head, **shared,
    )  # fmt: skip
    hooked_dkv_kernel[(triton.cdiv(S_k, BLOCK), k.shape[1], B)](
        q, k, v, do, lse, delta, dk, dv, *scalars, *strides(q, k, v, do, dk, dv),
        QUERIES=hooks.queries, KEY_BLOCK=hooks.key_block, QUERY_HEADS=hooks.query_heads, **shared,
    )  # fmt: skip
    return dq, dk, dv
