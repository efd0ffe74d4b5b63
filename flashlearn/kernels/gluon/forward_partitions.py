"""What the warps of `fa3_forward_kernel` do: one partition loads, the others multiply.

A slot of a ring has two barriers. `full`: the bytes have arrived. `empty`: every consumer has read them.
The n-th use of a slot is over when the phase n % 2 of its barrier is. Of `barriers`, those of Q have two
slots for each consumer, which tiles use in turn.
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)

from flashlearn.kernels.gluon.forward_tiles import ROWS, announce, learn, tile_at
from flashlearn.kernels.gluon.parts import accumulator, operand_a

__all__ = ["load", "multiply"]


@gluon.jit
def load(
    work,
    CAUSAL: gl.constexpr, BLOCK_K: gl.constexpr, STAGES: gl.constexpr, CONSUMERS: gl.constexpr,
):  # fmt: skip
    # the producer: Q once per tile, then K and V block by block, the last keys first
    descriptors, counter_ptr, tiles, barriers, schedule, sizes = work
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
        b, h, h_k, first_row, blocks, _ = tile_at(tile, sizes, CAUSAL, CONSUMERS * ROWS, BLOCK_K)
        for c in gl.static_range(CONSUMERS):
            place = turn % 2 * CONSUMERS + c
            # at first nobody holds it: the phase before 0 is over
            mbarrier.wait(q_empty.index(place), turn // 2 % 2 ^ 1)
            mbarrier.expect(q_full.index(place), q_desc.block_type.nbytes)
            q_box = q_tiles.index(place)._reinterpret(q_desc.dtype, q_desc.block_type.shape, q_desc.layout)
            row = first_row + c * ROWS
            tma.async_copy_global_to_shared(q_desc, [b, h, row, 0], q_full.index(place), q_box)
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
        tile += gl.num_programs(0)
        # tiles differ in length under a mask: who is done takes the next one, the longest come first
        if CAUSAL:  # noqa: SIM102
            if total > gl.num_programs(0):
                tile = gl.num_programs(0) + gl.atomic_add(counter_ptr, 1, sem="relaxed")
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
    q, k_ring, v_ring, barriers, turns, p, m_i, l_i, acc, scale, taken, first, last, blocks, last_seen, S_k,
    MASKED: gl.constexpr, CAUSAL: gl.constexpr, NEGATIVE: gl.constexpr, BLOCK_K: gl.constexpr,
    STAGES: gl.constexpr, CONSUMER: gl.constexpr, PINGPONG: gl.constexpr, TIGHT: gl.constexpr,
):  # fmt: skip
    # blocks first … last - 1 of this tile, counted from the last keys; p is P of the block before `first`
    _, _, k_full, k_empty, v_full, v_empty = barriers
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
    work,
    CAUSAL: gl.constexpr, NEGATIVE: gl.constexpr, RAGGED: gl.constexpr, BLOCK_K: gl.constexpr,
    D: gl.constexpr, STAGES: gl.constexpr, CONSUMERS: gl.constexpr, CONSUMER: gl.constexpr,
    PINGPONG: gl.constexpr,
):  # fmt: skip
    # a consumer: 64 queries of each tile
    o_desc, lse_ptr, tiles, o_tiles, barriers, schedule, turns_at, scale, sizes = work
    q_tiles, k_ring, v_ring = tiles
    q_full, q_empty, k_full, k_empty, v_full, v_empty = barriers
    next_tile, tile_known, tile_read = schedule
    H, H_K, S_q, S_k, GROUP, TILES, total = sizes  # noqa: RUF059
    product: gl.constexpr = accumulator(BLOCK_K)
    output: gl.constexpr = accumulator(D)
    of_scores: gl.constexpr = gl.SliceLayout(1, product)
    of_output: gl.constexpr = gl.SliceLayout(1, output)
    MASKED: gl.constexpr = CAUSAL or RAGGED
    o_tile = o_tiles.index(CONSUMER)
    o_box = o_tile._reinterpret(o_desc.dtype, o_desc.block_type.shape, o_desc.layout)
    taken = 0
    turn = 0
    tile = learn(next_tile, tile_known, tile_read, turn)
    while tile < total:
        b, h, _, first_row, blocks, whole = tile_at(tile, sizes, CAUSAL, CONSUMERS * ROWS, BLOCK_K)
        first_row += CONSUMER * ROWS
        rows = first_row + gl.arange(0, ROWS, layout=of_scores)
        last_seen = rows + S_k - S_q
        m_i = gl.full([ROWS], -float("inf"), gl.float32, layout=of_scores)
        l_i = gl.zeros([ROWS], gl.float32, layout=of_scores)
        acc = gl.zeros([ROWS, D], gl.float32, layout=output)
        # the first block: S alone, there is no P yet
        slot = taken % STAGES
        place = turn % 2 * CONSUMERS + CONSUMER
        q = q_tiles.index(place)
        mbarrier.wait(q_full.index(place), turn // 2 % 2)
        if PINGPONG:
            mbarrier.wait(turns_at.index(CONSUMER), taken % 2 ^ (1 - CONSUMER))
        mbarrier.wait(k_full.index(slot), taken // STAGES % 2)
        s = gl.zeros([ROWS, BLOCK_K], gl.float32, layout=product)
        s = warpgroup_mma(q, k_ring.index(slot).permute([1, 0]), s, use_acc=False, is_async=True)
        if PINGPONG:
            mbarrier.arrive(turns_at.index(1 - CONSUMER), count=1)
        s = warpgroup_mma_wait(0, deps=[s])
        mbarrier.arrive(k_empty.index(slot), count=1)
        p32, m_i, l_i, _ = softmax_step(
            s, m_i, l_i, scale, (blocks - 1) * BLOCK_K, last_seen, S_k, MASKED, CAUSAL, NEGATIVE, BLOCK_K
        )
        p = gl.convert_layout(p32.to(o_desc.dtype), operand_a(output))
        taken += 1
        edge = 1
        if CAUSAL:
            edge = blocks - whole
            p, m_i, l_i, acc, taken = scan(
                q, k_ring, v_ring, barriers, turns_at, p, m_i, l_i, acc, scale, taken, 1, edge, blocks,
                last_seen, S_k, True, CAUSAL, NEGATIVE, BLOCK_K, STAGES, CONSUMER, PINGPONG, CONSUMERS == 3,
            )  # fmt: skip
        p, m_i, l_i, acc, taken = scan(
            q, k_ring, v_ring, barriers, turns_at, p, m_i, l_i, acc, scale, taken, edge, blocks, blocks,
            last_seen, S_k, False, CAUSAL, NEGATIVE, BLOCK_K, STAGES, CONSUMER, PINGPONG, CONSUMERS == 3,
        )  # fmt: skip
        mbarrier.arrive(q_empty.index(place), count=1)
        slot = (taken - 1) % STAGES
        mbarrier.wait(v_full.index(slot), (taken - 1) // STAGES % 2)
        acc = warpgroup_mma(p, v_ring.index(slot), acc, is_async=True)
        l_i = gl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
        gl.store(
            lse_ptr + (b * H + h).to(gl.int64) * S_q + rows,
            (m_i + gl.log2(l_i)) * 0.6931471805599453,
            rows < S_q,
        )
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
