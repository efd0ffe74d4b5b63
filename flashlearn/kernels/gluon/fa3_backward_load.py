"""Which keys a program of `fa3_backward` owns, and the producer that sends blocks of queries past them."""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

from flashlearn.kernels.gluon.fa3_backward_scan import BLOCK_Q, KEYS

__all__ = ["block_at", "load"]


@gluon.jit
def block_at(sizes, CAUSAL: gl.constexpr):
    # the block of keys of this program, and which blocks of queries see it: `first` … `last`, those before
    # `whole` not all of it. Under a causal mask the first keys are seen most: they start first
    _, H_K, S_q, S_k, _, GROUP, TILES = sizes
    pid = gl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    first_column = in_group // GROUP * (2 * KEYS)
    first, whole, last = 0, 0, (S_q + BLOCK_Q - 1) // BLOCK_Q
    if CAUSAL:
        shift = S_k - S_q  # query i sees the keys up to i + shift
        first = gl.minimum(gl.maximum(first_column - shift, 0) // BLOCK_Q, last)
        seen_by_all = gl.maximum(first_column + 2 * KEYS - 1 - shift, 0)
        whole = gl.minimum((seen_by_all + BLOCK_Q - 1) // BLOCK_Q, last)
    return bh // H_K, bh % H_K, first_column, first, whole, last


@gluon.jit
def load(descriptors, tiles, barriers, sizes, CAUSAL: gl.constexpr, STAGES: gl.constexpr):
    # the producer: K and V once, then Q, dO, LSE and delta block by block, for every head that shares K and V
    q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc = descriptors
    k_tiles, v_tiles, q_ring, do_ring, lse_ring, delta_ring = tiles
    kv_full, full, empty, _ = barriers
    H, H_K, _, _, S_PADDED, _, _ = sizes
    b, h_k, first_column, first, _, last = block_at(sizes, CAUSAL)
    mbarrier.expect(kv_full.index(0), 2 * (k_desc.block_type.nbytes + v_desc.block_type.nbytes))
    for c in gl.static_range(2):
        at = [b, h_k, first_column + c * KEYS, 0]
        tma.async_copy_global_to_shared(k_desc, at, kv_full.index(0), k_tiles.index(c))
        tma.async_copy_global_to_shared(v_desc, at, kv_full.index(0), v_tiles.index(c))
    taken = 0
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        for i in range(first, last):
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
