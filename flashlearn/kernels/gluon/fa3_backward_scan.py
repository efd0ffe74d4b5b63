"""What a consumer of `fa3_backward` does with the blocks of queries that pass its keys.

Sᵀ = K Qᵀ and dPᵀ = V dOᵀ have keys as rows, so that Pᵀ and dSᵀ feed dV and dK from registers. dQ needs the
keys of both consumers: they exchange dSᵀ through shared memory. It lags one block behind, so that a consumer
does not stand still until the other has written its part. It leaves in the order in which threads hold it,
16 bytes each, as in FlashAttention-4's code (`flash_bwd_sm90.py`).
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

from flashlearn.kernels.gluon.parts import accumulator, operand_a
from flashlearn.kernels.gluon.tma_add import async_add_shared_to_global

__all__ = ["BLOCK_Q", "KEYS", "add_to_dq", "part_of_dq", "scan_queries_past_keys"]

KEYS = gl.constexpr(64)
"""Keys of one consumer warpgroup: the rows of one WGMMA instruction."""
BLOCK_Q = gl.constexpr(64)
"""Queries of a block: more would not fit into registers beside dK and dV."""


@gluon.jit
def part_of_dq(k_tiles, exchange, slot, zero, D: gl.constexpr, CONSUMER: gl.constexpr):
    # half of the columns of dQ = Σ over both consumers' keys of dS K, in flight
    dq = gl.zeros([BLOCK_Q, D // 2], gl.float32, accumulator(D // 2))
    for c in gl.static_range(2):
        dst = exchange.index(slot * 2 + c)
        k = k_tiles.index(zero + c).reshape([KEYS, D]).slice(D // 2 * CONSUMER, D // 2, dim=1)
        dq = warpgroup_mma(dst.permute([1, 0]), k, dq, use_acc=c > 0, is_async=True)
    return dq


@gluon.jit
def add_to_dq(dq_desc, dq_tile, dq, row, D: gl.constexpr, CONSUMER: gl.constexpr):
    # a thread holds two columns of a row, and of the row 8 below: stored by rows that is 8 bytes here and 8
    # there, and two rows meet in the banks; side by side it is 16 bytes, and those of a warp are one run of
    # 512. A sum may lie in any order, as long as it is always the same: `finish_dq_kernel` restores the rows
    EIGHTS: gl.constexpr = D // 2 // 8  # of columns
    # warp, upper or lower row, row of eight, eight of columns, pair, column of the pair
    held = dq.reshape([4, 2, 8, EIGHTS, 4, 2]).permute([3, 0, 2, 4, 1, 5])
    tma.store_wait(0)  # the copy engine has read the dQ before
    dq_tile.store(held.reshape([D // 8, 256]))
    fence_async_shared()  # what threads wrote, before the copy engine reads it
    # in runs of 256 numbers: D / 4 for each block of 64 queries, half of them from each consumer
    async_add_shared_to_global(dq_desc, [row // BLOCK_Q * (D // 4) + D // 8 * CONSUMER, 0], dq_tile)


@gluon.jit
def scan_queries_past_keys(
    dk, dv, k, v, tiles, exchange, dq_tile, dq_desc, barriers, scale, dq_row, columns,
    shift, S_k, taken, first, last, row_before,
    MASKED: gl.constexpr, RAGGED: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, CONSUMER: gl.constexpr,
    REGISTERS: gl.constexpr,
):  # fmt: skip
    # blocks of queries first … last - 1 of one head; Sᵀ, Pᵀ, dPᵀ and dSᵀ are [64 keys, BLOCK_Q queries];
    # dQ that is added is that of the block before, at row_before
    k_tiles, v_tiles, q_ring, do_ring, lse_ring, delta_ring = tiles
    _, full, empty, exchanged = barriers
    product: gl.constexpr = accumulator(BLOCK_Q)
    query: gl.constexpr = gl.SliceLayout(0, product)
    left: gl.constexpr = operand_a(dk.type.layout)
    for i in range(first, last):
        slot, before, now = taken % STAGES, taken % 3, (taken + 1) % 3
        # 0, but the compiler does not know: it would see that the addresses of K and V never change, compute
        # what the tensor cores need of them before the loop, and at D 128 spill it, as no registers are left
        zero = taken >> 30
        if not REGISTERS:
            k = k_tiles.index(zero + CONSUMER).reshape([KEYS, D])
            v = v_tiles.index(zero + CONSUMER).reshape([KEYS, D])
        q = q_ring.index(slot).reshape([BLOCK_Q, D])
        do = do_ring.index(slot).reshape([BLOCK_Q, D])
        mbarrier.wait(full.index(slot), taken // STAGES & 1)
        s = gl.zeros([KEYS, BLOCK_Q], gl.float32, product)
        dp = gl.zeros([KEYS, BLOCK_Q], gl.float32, product)
        s = warpgroup_mma(k, q.permute([1, 0]), s, use_acc=False, is_async=True)
        dp = warpgroup_mma(v, do.permute([1, 0]), dp, use_acc=False, is_async=True)
        lse = lse_ring.index(slot).load(query)
        s = warpgroup_mma_wait(1, deps=[s])  # S is here, dP may go on under the exponentials
        p = gl.exp2(s * scale - lse[None, :])
        if MASKED:
            rows = i * BLOCK_Q + gl.arange(0, BLOCK_Q, query)
            p = gl.where(columns[:, None] <= rows[None, :] + shift, p, 0.0)
        if RAGGED:  # keys that are not there: K is zero, but P may be too large for 0 · P
            p = gl.where((columns < S_k)[:, None], p, 0.0)
        delta = delta_ring.index(slot).load(query)
        dp = warpgroup_mma_wait(0, deps=[dp])
        # three buffers: whoever has written the one before is past the products that read this one
        mbarrier.wait(exchanged.index(before), taken // 3 & 1)
        ds = (p * (dp - delta[None, :])).to(q.dtype)
        exchange.index(now * 2 + CONSUMER).store(ds)
        fence_async_shared()  # what threads wrote, before the tensor cores read it
        mbarrier.arrive(exchanged.index(now), count=1)
        # together and as late as this: dV any earlier, beside P and dP, costs registers, and spills at D 128
        dv = warpgroup_mma(gl.convert_layout(p.to(q.dtype), left), do, dv, is_async=True)
        dq = part_of_dq(k_tiles, exchange, before, zero, D, CONSUMER)
        dk = warpgroup_mma(gl.convert_layout(ds, left), q, dk, is_async=True)
        dv, dq = warpgroup_mma_wait(1, deps=[dv, dq])
        add_to_dq(dq_desc, dq_tile, dq, row_before, D, CONSUMER)  # under dK's product
        dk = warpgroup_mma_wait(0, deps=[dk])
        mbarrier.arrive(empty.index(slot), count=1)
        row_before = dq_row + i * BLOCK_Q
        taken += 1
    return dk, dv, taken, row_before
