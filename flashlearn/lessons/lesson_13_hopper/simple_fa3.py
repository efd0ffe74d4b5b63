"""FlashAttention-3's forward pass at its shortest: one producer, two consumers, a softmax under a product.

    >>> o, lse = fa3_forward(q, k, v, causal=True)      # q [B, H, S_q, D], k and v [B, H_k, S_k, D]

A program owns 128 queries of one head, 64 per consumer. Keys and values come in blocks through two rings.
`flashlearn.kernels.gluon.fa3_forward` is the same kernel with persistent programs, Q one tile ahead, loops
split by mask, and ping-pong. Source: FlashAttention-3 (Shah et al., 2024, sections 3.1 and 3.2). The
lines between BEGIN and END SOLUTION are the exercise.
"""

from __future__ import annotations

import math

import torch
import triton
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from flashlearn.kernels.described import complying, like
from flashlearn.kernels.gluon.parts import accumulator, operand_a, refuse_unknown, rows_of_heads
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

__all__ = ["fa3_forward"]

ROWS = gl.constexpr(64)


@gluon.jit
def tile_of(sizes, CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr):
    # this program's batch entry and heads, its first query, and how many blocks of keys its last one sees
    H, H_K, S_q, S_k = sizes
    b, h = gl.program_id(1) // H, gl.program_id(1) % H
    first_row = gl.program_id(0) * 2 * ROWS
    end = S_k
    if CAUSAL:
        end = gl.minimum(S_k, first_row + 2 * ROWS + S_k - S_q)
    return b, h, h // (H // H_K), first_row, gl.maximum(gl.cdiv(end, BLOCK_K), 1)  # one block at least


@gluon.jit
def bring_q_and_keys(
    q_desc, k_desc, v_desc, tiles, barriers, sizes,
    CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    q, k, v = tiles
    q_full, k_full, k_empty, v_full, v_empty = barriers
    b, h, h_k, first_row, blocks = tile_of(sizes, CAUSAL, BLOCK_K)
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO fa3_forward: Q for both consumers, then K and V, block by block")
    mbarrier.expect(q_full.index(0), 2 * q_desc.block_type.nbytes)
    for c in gl.static_range(2):
        tma.async_copy_global_to_shared(q_desc, [b, h, first_row + c * ROWS, 0], q_full.index(0), q.index(c))
    for i in range(blocks):
        slot, phase, start = i % STAGES, i // STAGES % 2, i * BLOCK_K
        mbarrier.wait(k_empty.index(slot), phase ^ 1)
        mbarrier.expect(k_full.index(slot), k_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(k_desc, [b, h_k, start, 0], k_full.index(slot), k.index(slot))
        mbarrier.wait(v_empty.index(slot), phase ^ 1)
        mbarrier.expect(v_full.index(slot), v_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(v_desc, [b, h_k, start, 0], v_full.index(slot), v.index(slot))
    ### END SOLUTION


@gluon.jit
def softmax_step(s, m_i, l_i, scale, start, last_seen):
    # lesson 06's online softmax in base 2: scale is alpha · log₂ e, m_i is in its units
    columns = start + gl.arange(0, s.shape[1], layout=gl.SliceLayout(0, s.type.layout))
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO fa3_forward: scale, mask, maximum, exponentials, sum")
    s = gl.where(columns[None, :] <= last_seen[:, None], s * scale, -float("inf"))
    m_new = gl.maximum(m_i, gl.max(s, axis=1))
    shift = gl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
    p = gl.exp2(s - shift[:, None])
    rescale = gl.exp2(m_i - shift)
    l_i = l_i * rescale + gl.sum(p, axis=1)
    ### END SOLUTION
    return p, m_new, l_i, rescale


@gluon.jit
def attend(
    o_desc, lse_ptr, tiles, barriers, scale, sizes,
    CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr, CONSUMER: gl.constexpr,
):  # fmt: skip
    D: gl.constexpr = o_desc.block_type.shape[3]
    scores: gl.constexpr = accumulator(BLOCK_K)
    output: gl.constexpr = accumulator(D)
    q_tiles, k_ring, v_ring = tiles
    q_full, k_full, k_empty, v_full, v_empty = barriers
    H, _, S_q, S_k = sizes
    b, h, _, first_row, blocks = tile_of(sizes, CAUSAL, BLOCK_K)
    first_row += CONSUMER * ROWS
    rows = first_row + gl.arange(0, ROWS, layout=gl.SliceLayout(1, scores))
    last_seen = gl.full([ROWS], S_k - 1, gl.int32, layout=gl.SliceLayout(1, scores))
    if CAUSAL:
        last_seen = rows + S_k - S_q
    m_i = gl.full([ROWS], -float("inf"), gl.float32, layout=gl.SliceLayout(1, scores))
    l_i = gl.zeros([ROWS], gl.float32, layout=gl.SliceLayout(1, scores))
    acc = gl.zeros([ROWS, D], gl.float32, layout=output)
    nothing = gl.zeros([ROWS, BLOCK_K], gl.float32, layout=scores)
    q = q_tiles.index(CONSUMER).reshape([ROWS, D])
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO fa3_forward: S of block 0; then S of block i with P V of i - 1")
    mbarrier.wait(q_full.index(0), 0)
    mbarrier.wait(k_full.index(0), 0)
    k = k_ring.index(0).reshape([BLOCK_K, D])
    s = warpgroup_mma(q, k.permute([1, 0]), nothing, use_acc=False, is_async=True)
    s = warpgroup_mma_wait(0, deps=[s])
    mbarrier.arrive(k_empty.index(0), count=1)
    p, m_i, l_i, _ = softmax_step(s, m_i, l_i, scale, 0, last_seen)
    p = gl.convert_layout(p.to(o_desc.dtype), operand_a(output))
    for i in range(1, blocks):
        slot, before = i % STAGES, (i - 1) % STAGES
        k = k_ring.index(slot).reshape([BLOCK_K, D])
        v = v_ring.index(before).reshape([BLOCK_K, D])
        mbarrier.wait(k_full.index(slot), i // STAGES % 2)
        s = warpgroup_mma(q, k.permute([1, 0]), nothing, use_acc=False, is_async=True)
        mbarrier.wait(v_full.index(before), (i - 1) // STAGES % 2)
        acc = warpgroup_mma(p, v, acc, is_async=True)
        s = warpgroup_mma_wait(1, deps=[s])  # S is here; O += P V goes on under the softmax
        mbarrier.arrive(k_empty.index(slot), count=1)
        p32, m_i, l_i, rescale = softmax_step(s, m_i, l_i, scale, i * BLOCK_K, last_seen)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(v_empty.index(before), count=1)
        acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1, output))[:, None]
        p = gl.convert_layout(p32.to(o_desc.dtype), operand_a(output))
    last = (blocks - 1) % STAGES
    mbarrier.wait(v_full.index(last), (blocks - 1) // STAGES % 2)
    acc = warpgroup_mma(p, v_ring.index(last).reshape([BLOCK_K, D]), acc, is_async=True)
    acc = warpgroup_mma_wait(0, deps=[acc])
    l_i = gl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
    lse = (m_i + gl.log2(l_i)) * 0.6931471805599453  # ln 2
    o = acc * gl.convert_layout(1.0 / l_i, gl.SliceLayout(1, output))[:, None]
    ### END SOLUTION
    gl.store(lse_ptr + (b * H + h).to(gl.int64) * S_q + rows, lse, rows < S_q)
    q.store(o.to(o_desc.dtype))  # Q is done with: its tile takes O
    fence_async_shared()
    tma.async_copy_shared_to_global(o_desc, [b, h, first_row, 0], q_tiles.index(CONSUMER))
    tma.store_wait(0)


@gluon.jit
def fa3_forward_kernel(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, scale, H, H_K, S_q, S_k,
    CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    D: gl.constexpr = k_desc.block_type.shape[3]
    q = gl.allocate_shared_memory(q_desc.dtype, [2, 1, 1, ROWS, D], q_desc.layout)
    k = gl.allocate_shared_memory(k_desc.dtype, [STAGES, 1, 1, BLOCK_K, D], k_desc.layout)
    v = gl.allocate_shared_memory(v_desc.dtype, [STAGES, 1, 1, BLOCK_K, D], v_desc.layout)
    tiles = (q, k, v)
    sizes = (H, H_K, S_q, S_k)
    q_full = gl.allocate_shared_memory(gl.int64, [1, 1], mbarrier.MBarrierLayout())
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    k_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    barriers = (q_full, k_full, k_empty, v_full, v_empty)
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO fa3_forward: how many arrive on each barrier, and three partitions")
    mbarrier.init(q_full.index(0), count=1)
    for slot in gl.static_range(STAGES):
        mbarrier.init(k_full.index(slot), count=1)  # the producer's expectation
        mbarrier.init(k_empty.index(slot), count=2)  # both consumers
        mbarrier.init(v_full.index(slot), count=1)
        mbarrier.init(v_empty.index(slot), count=2)
    gl.warp_specialize(
        [
            (attend, (o_desc, lse_ptr, tiles, barriers, scale, sizes, CAUSAL, BLOCK_K, STAGES, 0)),
            (attend, (o_desc, lse_ptr, tiles, barriers, scale, sizes, CAUSAL, BLOCK_K, STAGES, 1)),
            (bring_q_and_keys, (q_desc, k_desc, v_desc, tiles, barriers, sizes, CAUSAL, BLOCK_K, STAGES)),
        ],
        [4, 1],
        [240, 24],
    )
    ### END SOLUTION


def fa3_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; D is 64 or 128, dtypes are fp16 and bf16.

    Raises TypeError or ValueError for what does not go together.
    """
    refuse_misfits(q, k, v)
    refuse_unknown(q)
    q, k, v = complying(q), complying(k), complying(v)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    o = like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK_K = 128
    fa3_forward_kernel[(triton.cdiv(S_q, 128), B * H)](
        rows_of_heads(q, 64), rows_of_heads(k, BLOCK_K), rows_of_heads(v, BLOCK_K), rows_of_heads(o, 64),
        lse, alpha * LOG2_E, H, H_k, S_q, S_k, CAUSAL=causal, BLOCK_K=BLOCK_K, STAGES=2, num_warps=4,
    )  # fmt: skip
    return o, lse
