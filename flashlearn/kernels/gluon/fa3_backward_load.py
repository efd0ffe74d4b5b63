"""Which keys a program of `fa3_backward` owns, and the producer that sends blocks of queries past them."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

from flashlearn.kernels.gluon.fa3_backward_scan import KEYS
from flashlearn.kernels.gluon.forward_tiles import announce

__all__ = ["block_at", "first_query_block", "load"]


@gluon.jit
def block_at(tile, sizes, CAUSAL: gl.constexpr, BLOCK_Q: gl.constexpr):
    # a block of keys, and which blocks of queries see it: `first` … `last`, those before `whole` not all of
    # it. Under a causal mask the first keys are seen most: they start first
    _, H_K, S_q, S_k, _, GROUP, TILES, _ = sizes
    in_group = tile % (GROUP * TILES)
    bh = tile // (GROUP * TILES) * GROUP + in_group % GROUP
    first_column = in_group // GROUP * (2 * KEYS)
    first, whole, last = 0, 0, (S_q + BLOCK_Q - 1) // BLOCK_Q
    if CAUSAL:
        shift = S_k - S_q  # query i sees the keys up to i + shift
        first = gl.minimum(gl.maximum(first_column - shift, 0) // BLOCK_Q, last)
        seen_by_all = gl.maximum(first_column + 2 * KEYS - 1 - shift, 0)
        whole = gl.minimum((seen_by_all + BLOCK_Q - 1) // BLOCK_Q, last)
    return bh // H_K, bh % H_K, first_column, first, whole, last


@gluon.jit
def first_query_block(first_column, sizes, last, CAUSAL: gl.constexpr, STAGGER: gl.constexpr):
    # with which block of queries the scan of these keys begins, where all of them see the keys: programs that
    # run at the same time then add to different rows of dQ
    start = 0
    if STAGGER and not CAUSAL:
        start = first_column // (2 * KEYS) * last // sizes[6]
    return start


@gluon.jit
def load(
    descriptors, counter_ptr, tiles, barriers, schedule, sizes,
    CAUSAL: gl.constexpr, STAGES: gl.constexpr, KV_STAGES: gl.constexpr, PERSISTENT: gl.constexpr,
    STAGGER: gl.constexpr,
):  # fmt: skip
    # the producer, for one block of keys, or, where programs stay, for one after the other
    next_tile, tile_known, tile_read = schedule
    taken, turn = 0, 0
    tile = gl.program_id(0)
    if PERSISTENT:
        total = sizes[7]
        while tile < total:
            announce(tile, next_tile, tile_known, tile_read, turn)
            taken = load_tile(
                tile, descriptors, tiles, barriers, sizes, taken, turn, CAUSAL, STAGES, KV_STAGES, STAGGER
            )
            turn += 1
            tile += gl.num_programs(0)
            if CAUSAL:  # noqa: SIM102
                if total > gl.num_programs(0):
                    tile = gl.num_programs(0) + gl.atomic_add(counter_ptr, 1, sem="relaxed")
        announce(tile, next_tile, tile_known, tile_read, turn)
    else:
        load_tile(tile, descriptors, tiles, barriers, sizes, taken, turn, CAUSAL, STAGES, KV_STAGES, STAGGER)


@gluon.jit
def load_tile(
    tile, descriptors, tiles, barriers, sizes, taken, turn,
    CAUSAL: gl.constexpr, STAGES: gl.constexpr, KV_STAGES: gl.constexpr, STAGGER: gl.constexpr,
):  # fmt: skip
    # K and V once, then Q, dO, LSE and delta block by block, for every head that shares K and V
    q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc = descriptors
    k_tiles, v_tiles, q_ring, do_ring, lse_ring, delta_ring = tiles
    kv_full, kv_empty, full, empty, _ = barriers
    BLOCK_Q: gl.constexpr = q_desc.block_type.shape[2]
    H, H_K, _, _, S_PADDED, _, _, _ = sizes
    b, h_k, first_column, first, _, last = block_at(tile, sizes, CAUSAL, BLOCK_Q)
    start = first_query_block(first_column, sizes, last, CAUSAL, STAGGER)
    place = turn % KV_STAGES
    kv_bar = kv_full.index(place)
    mbarrier.wait(kv_empty.index(place), turn // KV_STAGES & 1 ^ 1)  # at first nobody holds it
    mbarrier.expect(kv_bar, 2 * (k_desc.block_type.nbytes + v_desc.block_type.nbytes))
    for c in gl.static_range(2):
        at = [b, h_k, first_column + c * KEYS, 0]
        tma.async_copy_global_to_shared(k_desc, at, kv_bar, k_tiles.index(place * 2 + c))
        tma.async_copy_global_to_shared(v_desc, at, kv_bar, v_tiles.index(place * 2 + c))
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        for step in range(first, last):
            i = step + start
            i = i - (i >= last) * last
            slot, phase = taken % STAGES, taken // STAGES & 1
            bar = full.index(slot)
            row = (b * H + h) * S_PADDED + i * BLOCK_Q
            mbarrier.wait(empty.index(slot), phase ^ 1)  # at first nobody holds it: phase -1 is over
            mbarrier.expect(bar, q_desc.block_type.nbytes + do_desc.block_type.nbytes + 8 * BLOCK_Q)
            tma.async_copy_global_to_shared(q_desc, [b, h, i * BLOCK_Q, 0], bar, q_ring.index(slot))
            tma.async_copy_global_to_shared(lse_desc, [row], bar, lse_ring.index(slot))
            tma.async_copy_global_to_shared(do_desc, [b, h, i * BLOCK_Q, 0], bar, do_ring.index(slot))
            tma.async_copy_global_to_shared(delta_desc, [row], bar, delta_ring.index(slot))
            taken += 1
    return taken
