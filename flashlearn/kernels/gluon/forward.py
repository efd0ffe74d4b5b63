"""FlashAttention's forward pass for Hopper: one warpgroup's worth of copying, two or three of multiplying.

    >>> q, k, v = (torch.randn(1, 8, 512, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    >>> o, lse = fa3_forward(q, k, v, causal=True)            # as `tuned_forward` returns them

A producer warp fetches tiles of Q, K and V by TMA. Each consumer is a warpgroup that owns 64 queries; while
its tensor cores multiply P of one block of keys with V, it takes the exponentials of the next. Programs stay
on their multiprocessor and take tile after tile, so that the producer fetches the next queries while the
consumers store the last. Sources: FlashAttention-3 (Shah et al., 2024, sections 3.1 and 3.2, algorithm 2); the
heavy tiles of a causal mask come first, as in FlashAttention's own scheduler for Hopper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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

from flashlearn.kernels.described import complying, heads_together, like
from flashlearn.kernels.gluon.parts import boxes, multiprocessors, refuse_unfit, ring, wgmma_layout
from flashlearn.kernels.tuned_forward import LOG2_E

__all__ = ["ForwardShape", "fa3_forward"]

ROWS = gl.constexpr(64)
"""Queries of a consumer: as many rows as one WGMMA instruction has."""


@dataclass(frozen=True)
class ForwardShape:
    """How many warpgroups multiply, how keys are cut and buffered, and whether the consumers take turns."""

    consumers: int
    block_k: int = 128
    stages: int = 2
    turns: bool = False
    persistent: bool = True


@gluon.jit
def tile_of(tile, H, TILES, GROUP, CAUSAL: gl.constexpr):
    # tiles count blocks of queries, the same block of GROUP heads in a row; long rows of a causal mask first
    in_group = tile % (GROUP * TILES)
    bh = tile // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP
    if CAUSAL:
        block = TILES - 1 - block
    return bh, bh // H, bh % H, block


@gluon.jit
def key_blocks(first_row, S_q, S_k, CAUSAL: gl.constexpr, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr):
    # how many blocks of keys a tile of queries scans: one at least, so that nobody waits for none
    end = S_k
    if CAUSAL:
        end = gl.minimum(S_k, first_row + BLOCK_Q + S_k - S_q)
    return gl.maximum(gl.cdiv(end, BLOCK_K), 1)


@gluon.jit
def fetch_tiles(
    q_desc, k_desc, v_desc, buffers, sizes,
    CAUSAL: gl.constexpr, CONSUMERS: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    # the producer: one warp that only starts copies
    q_bufs, k_bufs, v_bufs, q_full, q_free, k_full, k_free, v_full, v_free = buffers
    H, H_K, S_q, S_k, TILES, GROUP, COUNT = sizes
    turn, n = 0, 0
    for tile in range(gl.program_id(0), COUNT, gl.num_programs(0)):
        _, b, h, block = tile_of(tile, H, TILES, GROUP, CAUSAL)
        h_k = h // (H // H_K)  # the head of K and V that serves this head of Q
        first_row = block * (ROWS * CONSUMERS)
        slot, lap = turn % 2, turn // 2 & 1
        mbarrier.wait(q_free.index(slot), lap ^ 1)  # a fresh barrier counts as one phase past: no wait
        mbarrier.expect(q_full.index(slot), CONSUMERS * q_desc.block_type.nbytes)
        for c in gl.static_range(CONSUMERS):
            q_buf = q_bufs.index(slot * CONSUMERS + c)
            tma.async_copy_global_to_shared(q_desc, [b, h, first_row + ROWS * c, 0], q_full.index(slot), q_buf)
        blocks = key_blocks(first_row, S_q, S_k, CAUSAL, ROWS * CONSUMERS, BLOCK_K)
        for step in range(blocks):
            start = (blocks - 1 - step) * BLOCK_K  # from the last block, which a mask may cut, to the first
            stage, phase = n % STAGES, n // STAGES & 1
            mbarrier.wait(k_free.index(stage), phase ^ 1)
            mbarrier.expect(k_full.index(stage), k_desc.block_type.nbytes)
            tma.async_copy_global_to_shared(k_desc, [b, h_k, start, 0], k_full.index(stage), k_bufs.index(stage))
            mbarrier.wait(v_free.index(stage), phase ^ 1)
            mbarrier.expect(v_full.index(stage), v_desc.block_type.nbytes)
            tma.async_copy_global_to_shared(v_desc, [b, h_k, start, 0], v_full.index(stage), v_bufs.index(stage))
            n += 1
        turn += 1


@gluon.jit
def softmax_step(
    s, m_i, l_i, scale, start, last_seen, S_k,
    MASKED: gl.constexpr, CAUSAL: gl.constexpr, NEGATIVE: gl.constexpr,
):  # fmt: skip
    # base 2: scale is alpha · log₂e, and m_i is in its units
    if MASKED:
        columns = start + gl.arange(0, s.shape[1], gl.SliceLayout(0, s.type.layout))
        seen = (columns < S_k)[None, :]
        if CAUSAL:
            seen = seen & (columns[None, :] <= last_seen[:, None])
        s = gl.where(seen, s * scale, -float("inf"))
        m_new = gl.maximum(m_i, gl.max(s, axis=1))
        shift = gl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
        p = gl.exp2(s - shift[:, None])
    else:
        # the largest of scale · s is scale times the smallest s where scale is negative
        best = gl.min(s, axis=1) if NEGATIVE else gl.max(s, axis=1)
        m_new = gl.maximum(m_i, best * scale)
        shift = m_new
        p = gl.exp2(s * scale - shift[:, None])  # one multiply-add and one exponential per score
    rescale = gl.exp2(m_i - shift)
    return p, m_new, l_i * rescale + gl.sum(p, axis=1), rescale


@gluon.jit
def next_block(
    q, p, m_i, l_i, acc, buffers, turns, n, scale, start, last_seen, S_k,
    MASKED: gl.constexpr, CAUSAL: gl.constexpr, NEGATIVE: gl.constexpr, STAGES: gl.constexpr,
    CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr, TURNS: gl.constexpr,
):  # fmt: skip
    # S of block n is asked for, then P V of block n - 1; S comes first, and its softmax runs under P V
    _, k_bufs, v_bufs, _, _, k_full, k_free, v_full, v_free = buffers
    stage, before = n % STAGES, (n - 1) % STAGES
    BLOCK_K: gl.constexpr = k_bufs.shape[3]
    D: gl.constexpr = k_bufs.shape[4]
    s_layout: gl.constexpr = wgmma_layout(BLOCK_K)
    mbarrier.wait(k_full.index(stage), n // STAGES & 1)
    if TURNS:  # while one consumer multiplies, the other takes exponentials
        mbarrier.wait(turns.index(CONSUMER), (n & 1) ^ (1 if CONSUMER == 0 else 0))
    s = gl.zeros((ROWS, BLOCK_K), gl.float32, s_layout)
    k = k_bufs.index(stage).reshape((BLOCK_K, D))
    s = warpgroup_mma(q, k.permute((1, 0)), s, use_acc=False, is_async=True)
    mbarrier.wait(v_full.index(before), (n - 1) // STAGES & 1)
    v = v_bufs.index(before).reshape((BLOCK_K, D))
    acc = warpgroup_mma(p, v, acc, is_async=True)
    if TURNS:
        mbarrier.arrive(turns.index((CONSUMER + 1) % CONSUMERS))
    s = warpgroup_mma_wait(1, (s,))
    mbarrier.arrive(k_free.index(stage))
    p_new, m_i, l_i, rescale = softmax_step(s, m_i, l_i, scale, start, last_seen, S_k, MASKED, CAUSAL, NEGATIVE)
    acc = warpgroup_mma_wait(0, (acc,))
    mbarrier.arrive(v_free.index(before))
    acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1, acc.type.layout))[:, None]
    return gl.convert_layout(p_new.to(p.dtype), p.type.layout), m_i, l_i, acc


@gluon.jit
def attend(
    works, CAUSAL: gl.constexpr, NEGATIVE: gl.constexpr, RAGGED: gl.constexpr, STAGES: gl.constexpr,
    CONSUMER: gl.constexpr, CONSUMERS: gl.constexpr, TURNS: gl.constexpr,
):  # fmt: skip
    # a consumer: four warps that own 64 queries of every tile
    o_desc, lse_ptr, buffers, turns, scale, sizes = works
    q_bufs, k_bufs, v_bufs, q_full, q_free, k_full, k_free, v_full, v_free = buffers
    H, H_K, S_q, S_k, TILES, GROUP, COUNT = sizes
    BLOCK_K: gl.constexpr = k_bufs.shape[3]
    D: gl.constexpr = k_bufs.shape[4]
    s_layout: gl.constexpr = wgmma_layout(BLOCK_K)
    o_layout: gl.constexpr = wgmma_layout(D)
    p_layout: gl.constexpr = gl.DotOperandLayout(0, o_layout, 2)
    row: gl.constexpr = gl.SliceLayout(1, s_layout)
    turn, n = 0, 0
    for tile in range(gl.program_id(0), COUNT, gl.num_programs(0)):
        bh, b, h, block = tile_of(tile, H, TILES, GROUP, CAUSAL)
        first_row = block * (ROWS * CONSUMERS)
        rows = first_row + ROWS * CONSUMER + gl.arange(0, ROWS, row)
        last_seen = rows + S_k - S_q  # per query; negative: it sees no key
        blocks = key_blocks(first_row, S_q, S_k, CAUSAL, ROWS * CONSUMERS, BLOCK_K)
        masked = 1
        if CAUSAL:  # blocks that every query of the tile sees whole need no mask
            whole = gl.maximum(gl.minimum(S_k, first_row + S_k - S_q + 1), 0) // BLOCK_K
            masked = gl.maximum(blocks - whole, 1)
        slot = turn % 2
        q = q_bufs.index(slot * CONSUMERS + CONSUMER).reshape((ROWS, D))
        mbarrier.wait(q_full.index(slot), turn // 2 & 1)
        if TURNS:
            mbarrier.wait(turns.index(CONSUMER), (n & 1) ^ (1 if CONSUMER == 0 else 0))
        mbarrier.wait(k_full.index(n % STAGES), n // STAGES & 1)
        k = k_bufs.index(n % STAGES).reshape((BLOCK_K, D))
        s = gl.zeros((ROWS, BLOCK_K), gl.float32, s_layout)
        s = warpgroup_mma(q, k.permute((1, 0)), s, use_acc=False, is_async=True)
        if TURNS:
            mbarrier.arrive(turns.index((CONSUMER + 1) % CONSUMERS))
        s = warpgroup_mma_wait(0, (s,))
        mbarrier.arrive(k_free.index(n % STAGES))
        m_i = gl.full((ROWS,), -float("inf"), gl.float32, row)
        l_i = gl.zeros((ROWS,), gl.float32, row)
        acc = gl.zeros((ROWS, D), gl.float32, o_layout)
        p, m_i, l_i, _ = softmax_step(
            s, m_i, l_i, scale, (blocks - 1) * BLOCK_K, last_seen, S_k, CAUSAL or RAGGED, CAUSAL, NEGATIVE
        )
        p = gl.convert_layout(p.to(k_bufs.dtype), p_layout)
        if CAUSAL:
            for step in range(1, masked):
                p, m_i, l_i, acc = next_block(
                    q, p, m_i, l_i, acc, buffers, turns, n + step, scale,
                    (blocks - 1 - step) * BLOCK_K, last_seen, S_k, True, CAUSAL, NEGATIVE, STAGES,
                    CONSUMER, CONSUMERS, TURNS,
                )  # fmt: skip
        for step in range(masked, blocks):
            p, m_i, l_i, acc = next_block(
                q, p, m_i, l_i, acc, buffers, turns, n + step, scale,
                (blocks - 1 - step) * BLOCK_K, last_seen, S_k, False, CAUSAL, NEGATIVE, STAGES,
                CONSUMER, CONSUMERS, TURNS,
            )  # fmt: skip
        n += blocks
        last = (n - 1) % STAGES
        mbarrier.wait(v_full.index(last), (n - 1) // STAGES & 1)
        acc = warpgroup_mma(p, v_bufs.index(last).reshape((BLOCK_K, D)), acc, is_async=True)
        acc = warpgroup_mma_wait(0, (acc,))
        mbarrier.arrive(v_free.index(last))
        l_i = gl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
        lse = (m_i + gl.log2(l_i)) * 0.6931471805599453  # ln 2: LSE is kept in natural log
        gl.store(lse_ptr + bh.to(gl.int64) * S_q + rows, lse, mask=rows < S_q)
        o = acc / gl.convert_layout(l_i, gl.SliceLayout(1, o_layout))[:, None]
        q.store(o.to(o_desc.dtype))  # these queries are done with: their buffer takes O
        fence_async_shared()  # what threads wrote, before the copy engine reads it
        o_box = q_bufs.index(slot * CONSUMERS + CONSUMER)
        tma.async_copy_shared_to_global(o_desc, [b, h, first_row + ROWS * CONSUMER, 0], o_box)
        tma.store_wait(0)
        mbarrier.arrive(q_free.index(slot))
        turn += 1


@gluon.jit(do_not_specialize=["GROUP", "TILES", "COUNT"])
def fa3_forward_kernel(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, scale, H, H_K, S_q, S_k, GROUP, TILES, COUNT,
    CAUSAL: gl.constexpr, NEGATIVE: gl.constexpr, RAGGED: gl.constexpr,
    CONSUMERS: gl.constexpr, STAGES: gl.constexpr, TURNS: gl.constexpr,
):  # fmt: skip
    BLOCK_K: gl.constexpr = k_desc.block_type.shape[2]
    D: gl.constexpr = k_desc.block_type.shape[3]
    q_bufs = gl.allocate_shared_memory(q_desc.dtype, [2 * CONSUMERS, 1, 1, ROWS, D], q_desc.layout)
    k_bufs = gl.allocate_shared_memory(k_desc.dtype, [STAGES, 1, 1, BLOCK_K, D], k_desc.layout)
    v_bufs = gl.allocate_shared_memory(v_desc.dtype, [STAGES, 1, 1, BLOCK_K, D], v_desc.layout)
    q_full, q_free = ring(2, 1), ring(2, CONSUMERS)  # full: one arrival, the producer's, and the bytes
    k_full, k_free = ring(STAGES, 1), ring(STAGES, CONSUMERS)  # free: every consumer has read it
    v_full, v_free = ring(STAGES, 1), ring(STAGES, CONSUMERS)
    turns = ring(CONSUMERS, 1)
    buffers = (q_bufs, k_bufs, v_bufs, q_full, q_free, k_full, k_free, v_full, v_free)
    sizes = (H, H_K, S_q, S_k, TILES, GROUP, COUNT)
    works = (o_desc, lse_ptr, buffers, turns, scale, sizes)
    # registers per thread: the producer gives up what the consumers take
    if CONSUMERS == 2:
        gl.warp_specialize(
            [
                (attend, (works, CAUSAL, NEGATIVE, RAGGED, STAGES, 0, 2, TURNS)),
                (attend, (works, CAUSAL, NEGATIVE, RAGGED, STAGES, 1, 2, TURNS)),
                (fetch_tiles, (q_desc, k_desc, v_desc, buffers, sizes, CAUSAL, 2, BLOCK_K, STAGES)),
            ],
            [4, 1],
            [240, 24],
        )
    else:
        gl.warp_specialize(
            [
                (attend, (works, CAUSAL, NEGATIVE, RAGGED, STAGES, 0, 3, TURNS)),
                (attend, (works, CAUSAL, NEGATIVE, RAGGED, STAGES, 1, 3, TURNS)),
                (attend, (works, CAUSAL, NEGATIVE, RAGGED, STAGES, 2, 3, TURNS)),
                (fetch_tiles, (q_desc, k_desc, v_desc, buffers, sizes, CAUSAL, 3, BLOCK_K, STAGES)),
            ],
            [4, 4, 1],
            [160, 160, 32],
        )


def fa3_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None,
    shape: ForwardShape | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; K and V are [B, H_k, S_k, D], H_k divides H.

    D is 64 or 128, the dtype float16 or bfloat16, strides are any; `alpha` is 1/√D unless given. Raises
    TypeError or ValueError for what does not go together, or is not for these kernels.
    """
    refuse_unfit(q, k, v)
    q, k, v = complying(q), complying(k), complying(v)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    cut = shape or ForwardShape(consumers=2 if D == 128 else 3)
    o = like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    tiles = triton.cdiv(S_q, 64 * cut.consumers)
    count = tiles * B * H
    group = heads_together(B * H, tiles, 2 * S_k * D * k.element_size() * H_k // H, causal)
    programs = min(count, multiprocessors(q.device)) if cut.persistent else count
    fa3_forward_kernel[(programs,)](
        boxes(q, 64), boxes(k, cut.block_k), boxes(v, cut.block_k), boxes(o, 64), lse, alpha * LOG2_E,
        H, H_k, S_q, S_k, group, tiles, count,
        CAUSAL=causal, NEGATIVE=alpha < 0, RAGGED=S_k % cut.block_k != 0,
        CONSUMERS=cut.consumers, STAGES=cut.stages, TURNS=cut.turns, num_warps=4,
    )  # fmt: skip
    return o, lse
