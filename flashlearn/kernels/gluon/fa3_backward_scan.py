"""What a consumer of `fa3_backward` does with the blocks of queries that pass its keys.

Sᵀ = K Qᵀ and dPᵀ = V dOᵀ have keys as rows, so that Pᵀ and dSᵀ feed dV and dK from registers. dQ needs the
keys of both consumers: they exchange dSᵀ through shared memory. It lags one block behind, so that a consumer
does not stand still until the other has written its part.
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

__all__ = ["KEYS", "SLOTS", "add_to_dq", "part_of_dq", "scan_queries_past_keys"]

KEYS = gl.constexpr(64)
"""Keys of one consumer warpgroup: the rows of one WGMMA instruction."""
SLOTS = gl.constexpr(3)
"""Places for dSᵀ that the consumers exchange, where dQ lags; else two are enough."""


@gluon.jit
def part_of_dq(k_tiles, exchange, slot, kv, BLOCK_Q: gl.constexpr, D: gl.constexpr, CONSUMER: gl.constexpr):
    # dQ = Σ over both consumers' keys of dS K, in flight: 64 queries and half of the columns, or of 128
    # queries 64 and all columns
    COLUMNS: gl.constexpr = D // 2 if BLOCK_Q == 64 else D
    dq = gl.zeros([64, COLUMNS], gl.float32, accumulator(COLUMNS))
    for c in gl.static_range(2):
        dst = exchange.index(slot * 2 + c)
        k = k_tiles.index(kv + c).reshape([KEYS, D])
        if BLOCK_Q == 64:
            k = k.slice(COLUMNS * CONSUMER, COLUMNS, dim=1)
        else:
            dst = dst.slice(64 * CONSUMER, 64, dim=1)
        dq = warpgroup_mma(dst.permute([1, 0]), k, dq, use_acc=c > 0, is_async=True)
    return dq


@gluon.jit
def add_to_dq(dq_desc, dq_tile, dq, row, D: gl.constexpr, CONSUMER: gl.constexpr, FLAT: gl.constexpr):
    N: gl.constexpr = dq.shape[1]
    tma.store_wait(0)  # the copy engine has read the dQ before
    if FLAT:
        # as the threads hold it, 16 bytes each: a store in the order of rows would meet in the banks
        dq_tile.store(dq.reshape([4, 2, 8, N // 8, 4, 2]).permute([3, 0, 2, 4, 1, 5]).reshape([N // 4, 256]))
        fence_async_shared()  # what threads wrote, before the copy engine reads it
        async_add_shared_to_global(dq_desc, [row // 64 * (D // 4) + N // 4 * CONSUMER, 0], dq_tile)
    else:
        dq_tile.store(dq)
        fence_async_shared()
        if N == D:
            async_add_shared_to_global(dq_desc, [row + 64 * CONSUMER, 0], dq_tile)
        else:
            async_add_shared_to_global(dq_desc, [row, N * CONSUMER], dq_tile)


@gluon.jit
def scan_queries_past_keys(
    dk, dv, k, v, tiles, exchange, dq_tile, dq_desc, barriers, scale, dq_row, columns,
    shift, S_k, taken, turn, kv, start, blocks, first, last, row_before,
    MASKED: gl.constexpr, RAGGED: gl.constexpr, BLOCK_Q: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr,
    CONSUMER: gl.constexpr, FLAT: gl.constexpr, OPAQUE: gl.constexpr, LAG: gl.constexpr,
    REGISTERS: gl.constexpr,
):  # fmt: skip
    # blocks of queries first … last - 1 of one head; Sᵀ, Pᵀ, dPᵀ and dSᵀ are [64 keys, BLOCK_Q queries];
    # where dQ lags, what is added is that of the block before, at row_before
    k_tiles, v_tiles, q_ring, do_ring, lse_ring, delta_ring = tiles
    _, _, full, empty, exchanged = barriers
    product: gl.constexpr = accumulator(BLOCK_Q)
    query: gl.constexpr = gl.SliceLayout(0, product)
    left: gl.constexpr = operand_a(dk.type.layout)
    for step in range(first, last):
        i = step
        if not MASKED:
            i = step + start
            i = i - (i >= blocks) * blocks
        slot = taken % STAGES
        # 0, which no compiler knows: addresses that it saw never change would fill the registers, and spill
        kv_now = kv + (taken >> 30) if OPAQUE else kv
        if OPAQUE and not REGISTERS:
            k = k_tiles.index(kv_now + CONSUMER).reshape([KEYS, D])
            v = v_tiles.index(kv_now + CONSUMER).reshape([KEYS, D])
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
        if LAG:
            swapped = taken + turn
            before, now = swapped % 3, (swapped + 1) % 3
            # three buffers: whoever has written the one before is past the products that read this one
            mbarrier.wait(exchanged.index(before), swapped // 3 & 1)
        else:
            before, now = taken % 2, taken % 2
        ds = (p * (dp - delta[None, :])).to(q.dtype)
        exchange.index(now * 2 + CONSUMER).store(ds)
        fence_async_shared()  # what threads wrote, before the tensor cores read it
        mbarrier.arrive(exchanged.index(now), count=1)
        # together and as late as this: dV any earlier, beside P and dP, costs registers, and spills at D 128
        dv = warpgroup_mma(gl.convert_layout(p.to(q.dtype), left), do, dv, is_async=True)
        if not LAG:  # the other consumer's part, waited for under dV's product
            mbarrier.wait(exchanged.index(now), taken // 2 & 1)
            row_before = dq_row + i * BLOCK_Q
        dq = part_of_dq(k_tiles, exchange, before, kv_now, BLOCK_Q, D, CONSUMER)
        dk = warpgroup_mma(gl.convert_layout(ds, left), q, dk, is_async=True)
        dv, dq = warpgroup_mma_wait(1, deps=[dv, dq])
        add_to_dq(dq_desc, dq_tile, dq, row_before, D, CONSUMER, FLAT)  # under dK's product
        dk = warpgroup_mma_wait(0, deps=[dk])
        mbarrier.arrive(empty.index(slot), count=1)
        if LAG:
            row_before = dq_row + i * BLOCK_Q
        taken += 1
    return dk, dv, taken, row_before
