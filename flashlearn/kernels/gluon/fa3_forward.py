"""FlashAttention-3's forward pass: a producer warp loads, consumer warpgroups of 64 queries each multiply.

    >>> q, k, v = (torch.randn(1, 8, 4096, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    >>> o, lse = fa3_forward(q, k, v, causal=True)          # o like q, lse [1, 8, 4096] in fp32

The softmax of one block of keys runs under two products: S of this block has been waited for, while O += P V of
the block before is still in the tensor cores. Programs are persistent: one per multiprocessor takes tile after
tile, so that the producer already loads for the next tile while the consumers finish this one. Sources: FlashAttention-3
(Shah et al., 2024, sections 3.1 and 3.2), FlashAttention-2 (Dao, 2023) for the arithmetic. Tensors are [B, H, S, D]
in fp16 or bf16, D is 64 or 128; K and V may have fewer heads. Causal masks are aligned bottom-right, and a query
that sees no key gets O = 0 and LSE = −inf.
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
from flashlearn.kernels.gluon.parts import accumulator, operand_a, rows_of_heads
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

__all__ = ["fa3_forward"]

ROWS = gl.constexpr(64)
"""Queries of one consumer warpgroup: the rows of one WGMMA instruction."""


@gluon.jit
def tile_at(
    tile, sizes, CAUSAL: gl.constexpr, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr,
):  # fmt: skip
    # where a tile of queries lies, and its blocks of keys: `blocks` in all, of which the first `whole` are
    # seen by every query of the tile
    H, H_K, S_q, S_k, GROUP, TILES, total = sizes
    in_group = tile % (GROUP * TILES)
    bh = tile // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP
    if CAUSAL:
        block = TILES - 1 - block
    b, h = bh // H, bh % H
    first_row = block * BLOCK_Q
    end, seen_by_all = S_k, S_k
    if CAUSAL:
        end = gl.minimum(S_k, first_row + BLOCK_Q + S_k - S_q)
        seen_by_all = gl.minimum(S_k, gl.maximum(first_row + S_k - S_q + 1, 0))
    blocks = gl.maximum((end + BLOCK_K - 1) // BLOCK_K, 1)  # who sees nothing scans one block, all masked
    return b, h, h // (H // H_K), first_row, blocks, gl.minimum(seen_by_all // BLOCK_K, blocks - 1)


@gluon.jit
def announce(tile, next_tile, tile_known, tile_read, turn):
    # the producer's word to the consumers, by turns in one of two places
    place, phase = turn % 2, turn // 2 % 2
    mbarrier.wait(tile_read.index(place), phase ^ 1)
    next_tile.index(place).store(gl.full([1], tile, gl.int32, layout=gl.BlockedLayout([1], [32], [1], [0])))
    mbarrier.arrive(tile_known.index(place), count=1)


@gluon.jit
def learn(next_tile, tile_known, tile_read, turn):
    place, phase = turn % 2, turn // 2 % 2
    mbarrier.wait(tile_known.index(place), phase)
    tile = gl.max(next_tile.index(place).load(gl.BlockedLayout([1], [32], [4], [0])), axis=0)
    mbarrier.arrive(tile_read.index(place), count=1)
    return tile


@gluon.jit
def load(
    descriptors, counter_ptr, tiles, barriers, schedule, sizes,
    CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr, CONSUMERS: gl.constexpr,
):  # fmt: skip
    # the producer: Q once per tile, then K and V block by block, the last keys first
    q_desc, k_desc, v_desc = descriptors
    q_tiles, k_ring, v_ring = tiles
    q_full, q_empty, k_full, k_empty, v_full, v_empty = barriers
    next_tile, tile_known, tile_read = schedule
    total = sizes[6]
    taken = 0  # blocks so far, over all tiles: block i lies in slot i % STAGES, in its (i // STAGES)-th use
    turn = 0
    tile = gl.program_id(0)
    while tile < total:
        announce(tile, next_tile, tile_known, tile_read, turn)
        b, h, h_k, first_row, blocks, _ = tile_at(
            tile, sizes, CAUSAL, CONSUMERS * ROWS, BLOCK_K
        )
        for c in gl.static_range(CONSUMERS):
            mbarrier.wait(q_empty.index(c), turn % 2 ^ 1)  # at first nobody holds it: the phase before 0 is over
            mbarrier.expect(q_full.index(c), q_desc.block_type.nbytes)
            q_box = q_tiles.index(c)._reinterpret(q_desc.dtype, q_desc.block_type.shape, q_desc.layout)
            tma.async_copy_global_to_shared(q_desc, [b, h, first_row + c * ROWS, 0], q_full.index(c), q_box)
        for i in range(blocks):
            start = (blocks - 1 - i) * BLOCK_K
            slot, phase = taken % STAGES, taken // STAGES % 2
            mbarrier.wait(k_empty.index(slot), phase ^ 1)
            mbarrier.expect(k_full.index(slot), k_desc.block_type.nbytes)
            k_box = k_ring.index(slot)._reinterpret(k_desc.dtype, k_desc.block_type.shape, k_desc.layout)
            tma.async_copy_global_to_shared(k_desc, [b, h_k, start, 0], k_full.index(slot), k_box)
            mbarrier.wait(v_empty.index(slot), phase ^ 1)
            mbarrier.expect(v_full.index(slot), v_desc.block_type.nbytes)
            v_box = v_ring.index(slot)._reinterpret(v_desc.dtype, v_desc.block_type.shape, v_desc.layout)
            tma.async_copy_global_to_shared(v_desc, [b, h_k, start, 0], v_full.index(slot), v_box)
            taken += 1
        turn += 1
        if CAUSAL:  # tiles differ in length: who is done takes the next one, the longest come first
            tile = gl.num_programs(0) + gl.atomic_add(counter_ptr, 1, sem="relaxed")
        else:
            tile += gl.num_programs(0)
    announce(tile, next_tile, tile_known, tile_read, turn)  # there is none: the consumers stop too


@gluon.jit
def softmax_step(
    s, m_i, l_i, scale, start, last_seen, S_k,
    MASKED: gl.constexpr, CAUSAL: gl.constexpr, NEGATIVE: gl.constexpr, BLOCK_K: gl.constexpr,
):  # fmt: skip
    # one step of the online softmax, base 2: scale is alpha · log₂e, m_i in its units
    if MASKED:
        columns = start + gl.arange(0, BLOCK_K, layout=gl.SliceLayout(0, s.type.layout))
        seen = (columns < S_k)[None, :]
        if CAUSAL:
            seen = seen & (columns[None, :] <= last_seen[:, None])
        s = gl.where(seen, s * scale, -float("inf"))
        m_new = gl.maximum(m_i, gl.max(s, axis=1))
        shift = gl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
        p = gl.exp2(s - shift[:, None])
    else:
        best = gl.min(s, axis=1) if NEGATIVE else gl.max(s, axis=1)
        m_new = gl.maximum(m_i, best * scale)
        shift = m_new
        p = gl.exp2(s * scale - shift[:, None])  # one multiply-add and one exponential per score
    rescale = gl.exp2(m_i - shift)
    return p, m_new, l_i * rescale + gl.sum(p, axis=1), rescale


@gluon.jit
def scan(
    q, k_ring, v_ring, k_full, k_empty, v_full, v_empty, turns, p, m_i, l_i, acc, scale, taken, first, last, blocks,
    last_seen, S_k,
    MASKED: gl.constexpr, CAUSAL: gl.constexpr, NEGATIVE: gl.constexpr, BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr, CONSUMER: gl.constexpr, PINGPONG: gl.constexpr, TIGHT: gl.constexpr,
):  # fmt: skip
    # blocks first … last - 1 of this tile, counted from the last keys; p is P of the block before `first`
    product: gl.constexpr = accumulator(BLOCK_K)
    for i in range(first, last):
        slot, phase = taken % STAGES, taken // STAGES % 2
        before, its_phase = (taken - 1) % STAGES, (taken - 1) // STAGES % 2
        if PINGPONG:
            mbarrier.wait(turns.index(CONSUMER), taken % 2 ^ (1 - CONSUMER))
        mbarrier.wait(k_full.index(slot), phase)
        s = gl.zeros([ROWS, BLOCK_K], gl.float32, layout=product)
        s = warpgroup_mma(q, k_ring.index(slot).permute([1, 0]), s, use_acc=False, is_async=True)
        mbarrier.wait(v_full.index(before), its_phase)
        acc = warpgroup_mma(p, v_ring.index(before), acc, is_async=True)
        if PINGPONG:
            mbarrier.arrive(turns.index(1 - CONSUMER), count=1)
        if MASKED and TIGHT:  # three consumers have 160 registers each: the mask needs those of P
            s, acc = warpgroup_mma_wait(0, deps=[s, acc])
        else:
            s = warpgroup_mma_wait(1, deps=[s])  # S is here, O += P V may go on under the softmax
        mbarrier.arrive(k_empty.index(slot), count=1)
        p32, m_i, l_i, rescale = softmax_step(
            s, m_i, l_i, scale, (blocks - 1 - i) * BLOCK_K, last_seen, S_k, MASKED, CAUSAL, NEGATIVE, BLOCK_K
        )
        if not (MASKED and TIGHT):
            acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(v_empty.index(before), count=1)
        acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1, acc.type.layout))[:, None]
        p = gl.convert_layout(p32.to(p.dtype), p.type.layout)
        taken += 1
    return p, m_i, l_i, acc, taken


@gluon.jit
def multiply(
    o_desc, lse_ptr, tiles, o_tiles, barriers, schedule, turns_at, scale, sizes,
    CAUSAL: gl.constexpr, NEGATIVE: gl.constexpr, RAGGED: gl.constexpr, BLOCK_K: gl.constexpr, D: gl.constexpr,
    STAGES: gl.constexpr, CONSUMERS: gl.constexpr, CONSUMER: gl.constexpr, PINGPONG: gl.constexpr,
):  # fmt: skip
    # a consumer: 64 queries of each tile
    q_tiles, k_ring, v_ring = tiles
    q_full, q_empty, k_full, k_empty, v_full, v_empty = barriers
    next_tile, tile_known, tile_read = schedule
    H, H_K, S_q, S_k, GROUP, TILES, total = sizes
    product: gl.constexpr = accumulator(BLOCK_K)
    output: gl.constexpr = accumulator(D)
    of_scores: gl.constexpr = gl.SliceLayout(1, product)
    of_output: gl.constexpr = gl.SliceLayout(1, output)
    MASKED: gl.constexpr = CAUSAL or RAGGED
    o_tile = o_tiles.index(CONSUMER)
    o_box = o_tile._reinterpret(o_desc.dtype, o_desc.block_type.shape, o_desc.layout)
    q = q_tiles.index(CONSUMER)
    taken = 0
    turn = 0
    tile = learn(next_tile, tile_known, tile_read, turn)
    while tile < total:
        b, h, h_k, first_row, blocks, whole = tile_at(
            tile, sizes, CAUSAL, CONSUMERS * ROWS, BLOCK_K
        )
        first_row += CONSUMER * ROWS
        rows = first_row + gl.arange(0, ROWS, layout=of_scores)
        last_seen = rows + S_k - S_q
        m_i = gl.full([ROWS], -float("inf"), gl.float32, layout=of_scores)
        l_i = gl.zeros([ROWS], gl.float32, layout=of_scores)
        acc = gl.zeros([ROWS, D], gl.float32, layout=output)
        # the first block: S alone, there is no P yet
        slot = taken % STAGES
        mbarrier.wait(q_full.index(CONSUMER), turn % 2)
        if PINGPONG:
            mbarrier.wait(turns_at.index(CONSUMER), taken % 2 ^ (1 - CONSUMER))
        mbarrier.wait(k_full.index(slot), taken // STAGES % 2)
        s = gl.zeros([ROWS, BLOCK_K], gl.float32, layout=product)
        s = warpgroup_mma(q, k_ring.index(slot).permute([1, 0]), s, use_acc=False, is_async=True)
        if PINGPONG:
            mbarrier.arrive(turns_at.index(1 - CONSUMER), count=1)
        s = warpgroup_mma_wait(0, deps=[s])
        mbarrier.arrive(k_empty.index(slot), count=1)
        p32, m_i, l_i, rescale = softmax_step(
            s, m_i, l_i, scale, (blocks - 1) * BLOCK_K, last_seen, S_k, MASKED, CAUSAL, NEGATIVE, BLOCK_K
        )
        p = gl.convert_layout(p32.to(o_desc.dtype), operand_a(output))
        taken += 1
        edge = 1
        if CAUSAL:
            edge = blocks - whole
            p, m_i, l_i, acc, taken = scan(
                q, k_ring, v_ring, k_full, k_empty, v_full, v_empty, turns_at, p, m_i, l_i, acc, scale, taken, 1, edge,
                blocks, last_seen, S_k, True, CAUSAL, NEGATIVE, BLOCK_K, STAGES, CONSUMER, PINGPONG, CONSUMERS == 3,
            )  # fmt: skip
        p, m_i, l_i, acc, taken = scan(
            q, k_ring, v_ring, k_full, k_empty, v_full, v_empty, turns_at, p, m_i, l_i, acc, scale, taken, edge, blocks,
            blocks, last_seen, S_k, False, CAUSAL, NEGATIVE, BLOCK_K, STAGES, CONSUMER, PINGPONG, CONSUMERS == 3,
        )  # fmt: skip
        mbarrier.arrive(q_empty.index(CONSUMER), count=1)
        slot = (taken - 1) % STAGES
        mbarrier.wait(v_full.index(slot), (taken - 1) // STAGES % 2)
        acc = warpgroup_mma(p, v_ring.index(slot), acc, is_async=True)
        l_i = gl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
        gl.store(lse_ptr + (b * H + h).to(gl.int64) * S_q + rows, (m_i + gl.log2(l_i)) * 0.6931471805599453, rows < S_q)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(v_empty.index(slot), count=1)
        acc = acc * gl.convert_layout(1.0 / l_i, of_output)[:, None]
        tma.store_wait(0)  # the copy engine has read the tile before
        o_tile.store(acc.to(o_desc.dtype))
        fence_async_shared()  # the copy engine sees what ordinary stores wrote
        tma.async_copy_shared_to_global(o_desc, [b, h, first_row, 0], o_box)
        turn += 1
        tile = learn(next_tile, tile_known, tile_read, turn)
    tma.store_wait(0)


@gluon.jit(do_not_specialize=["GROUP", "TILES", "total"])
def fa3_forward_kernel(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, counter_ptr, scale, H, H_K, S_q, S_k, GROUP, TILES, total,
    CAUSAL: gl.constexpr, NEGATIVE: gl.constexpr, RAGGED: gl.constexpr, BLOCK_K: gl.constexpr, D: gl.constexpr,
    STAGES: gl.constexpr, CONSUMERS: gl.constexpr, PINGPONG: gl.constexpr,
):  # fmt: skip
    tile: gl.constexpr = gl.NVMMASharedLayout.get_default_for([ROWS, D], q_desc.dtype)
    block: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_K, D], q_desc.dtype)
    q_tiles = gl.allocate_shared_memory(q_desc.dtype, [CONSUMERS, ROWS, D], tile)
    o_tiles = gl.allocate_shared_memory(o_desc.dtype, [CONSUMERS, ROWS, D], tile)
    k_ring = gl.allocate_shared_memory(k_desc.dtype, [STAGES, BLOCK_K, D], block)
    v_ring = gl.allocate_shared_memory(v_desc.dtype, [STAGES, BLOCK_K, D], block)
    q_full = gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], mbarrier.MBarrierLayout())
    q_empty = gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], mbarrier.MBarrierLayout())
    turns = gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], mbarrier.MBarrierLayout())
    for c in gl.static_range(CONSUMERS):
        mbarrier.init(q_full.index(c), count=1)
        mbarrier.init(q_empty.index(c), count=1)
        mbarrier.init(turns.index(c), count=1)
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    k_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(STAGES):
        mbarrier.init(k_full.index(slot), count=1)
        mbarrier.init(k_empty.index(slot), count=CONSUMERS)  # free once every consumer has read it
        mbarrier.init(v_full.index(slot), count=1)
        mbarrier.init(v_empty.index(slot), count=CONSUMERS)
    # which tile is next: only the producer knows, and tells the consumers through two numbers in shared memory
    next_tile = gl.allocate_shared_memory(gl.int32, [2, 1], gl.SwizzledSharedLayout(1, 1, 1, order=[0]))
    tile_known = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    tile_read = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for n in gl.static_range(2):
        mbarrier.init(tile_known.index(n), count=1)
        mbarrier.init(tile_read.index(n), count=CONSUMERS)
    schedule = (next_tile, tile_known, tile_read)
    tiles = (q_tiles, k_ring, v_ring)
    barriers = (q_full, q_empty, k_full, k_empty, v_full, v_empty)
    sizes = (H, H_K, S_q, S_k, GROUP, TILES, total)
    if CONSUMERS == 2:  # registers: 2 · 128 · 240 + 128 · 24 of 65536
        gl.warp_specialize(
            [
                (multiply, (o_desc, lse_ptr, tiles, o_tiles, barriers, schedule, turns, scale, sizes, CAUSAL, NEGATIVE, RAGGED, BLOCK_K, D, STAGES, CONSUMERS, 0, PINGPONG)),
                (multiply, (o_desc, lse_ptr, tiles, o_tiles, barriers, schedule, turns, scale, sizes, CAUSAL, NEGATIVE, RAGGED, BLOCK_K, D, STAGES, CONSUMERS, 1, PINGPONG)),
                (load, ((q_desc, k_desc, v_desc), counter_ptr, tiles, barriers, schedule, sizes, CAUSAL, BLOCK_K, STAGES, CONSUMERS)),
            ],
            [4, 1], [240, 24],
        )  # fmt: skip
    else:  # 3 · 128 · 160 + 128 · 32 of 65536
        gl.warp_specialize(
            [
                (multiply, (o_desc, lse_ptr, tiles, o_tiles, barriers, schedule, turns, scale, sizes, CAUSAL, NEGATIVE, RAGGED, BLOCK_K, D, STAGES, CONSUMERS, 0, False)),
                (multiply, (o_desc, lse_ptr, tiles, o_tiles, barriers, schedule, turns, scale, sizes, CAUSAL, NEGATIVE, RAGGED, BLOCK_K, D, STAGES, CONSUMERS, 1, False)),
                (multiply, (o_desc, lse_ptr, tiles, o_tiles, barriers, schedule, turns, scale, sizes, CAUSAL, NEGATIVE, RAGGED, BLOCK_K, D, STAGES, CONSUMERS, 2, False)),
                (load, ((q_desc, k_desc, v_desc), counter_ptr, tiles, barriers, schedule, sizes, CAUSAL, BLOCK_K, STAGES, CONSUMERS)),
            ],
            [4, 4, 1], [160, 160, 32],
        )  # fmt: skip


_multiprocessors: dict[torch.device, int] = {}


@dataclass(frozen=True)
class Cut:
    """How the work is cut: consumer warpgroups of 64 queries, and whether two of them take turns to multiply."""

    consumers: int = 2
    pingpong: bool = False
    block_k: int = 128
    stages: int = 2


def forward_cut(q: Tensor, k: Tensor) -> Cut:
    """What was fastest on an H200: three consumers where rows are short, turns where few blocks of keys are scanned."""
    if k.shape[2] < 2048:
        return Cut(pingpong=True)
    return Cut(consumers=3 if q.shape[3] == 64 else 2)


def multiprocessors(device: torch.device) -> int:
    """Of this GPU, asked once, since asking takes as long as launching; a launch that is observed has two programs."""
    if device not in _multiprocessors:
        on_gpu = device.type == "cuda"
        count = torch.cuda.get_device_properties(device).multi_processor_count if on_gpu else 2
        _multiprocessors[device] = count
    return _multiprocessors[device]


def fa3_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None, cut: Cut | None = None
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; K and V are [B, H_k, S_k, D], H_k divides H.

    Any strides; `alpha` is 1/√D unless given, `cut` is `forward_cut(q, k)`. D is 64 or 128, dtypes are fp16 and
    bf16. Raises TypeError or ValueError for what does not go together.
    """
    refuse_misfits(q, k, v)
    refuse_unknown(q)
    q, k, v = complying(q), complying(k), complying(v)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    cut = cut or forward_cut(q, k)
    o = like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    counter = torch.zeros(1, dtype=torch.int32, device=q.device)
    tiles = triton.cdiv(S_q, cut.consumers * ROWS.value)
    group = heads_together(B * H, tiles, 2 * S_k * D * k.element_size() * H_k // H, causal)
    fa3_forward_kernel[(min(tiles * B * H, multiprocessors(q.device)),)](
        rows_of_heads(q, ROWS.value), rows_of_heads(k, cut.block_k), rows_of_heads(v, cut.block_k),
        rows_of_heads(o, ROWS.value), lse, counter, alpha * LOG2_E,
        H, H_k, S_q, S_k, group, tiles, tiles * B * H,
        CAUSAL=causal, NEGATIVE=alpha < 0, RAGGED=S_k % cut.block_k != 0, BLOCK_K=cut.block_k, D=D,
        STAGES=cut.stages, CONSUMERS=cut.consumers, PINGPONG=cut.pingpong, num_warps=4,
    )  # fmt: skip
    return o, lse


def refuse_unknown(q: Tensor) -> None:
    """Raise TypeError or ValueError for what these kernels are not written for."""
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(f"q is {q.dtype}, expected float16 or bfloat16: WGMMA takes these from shared memory as they lie")
    if q.shape[3] not in (64, 128):
        raise ValueError(f"q has rows of {q.shape[3]}, expected 64 or 128")
