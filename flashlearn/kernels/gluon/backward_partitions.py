"""What the warps of `fa3_backward_kernel` do: one partition loads, two multiply.

Of `barriers`, `q` guards Q and LSE, `do` guards dO and delta. `ds_written` and `ds_read` guard the tile
through which the two consumers exchange dSᵀ: each arrives at the first after it wrote its rows, at the
second after its dQ has read all.
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

__all__ = ["HALF", "KEYS", "load", "multiply"]

KEYS = gl.constexpr(64)
"""Keys of one consumer warpgroup."""
HALF = gl.constexpr(64)
"""Rows and columns of the half of dQ's tile that one consumer computes."""


@gluon.jit
def queries_of(
    first_column, S_q, S_k, CAUSAL: gl.constexpr, RAGGED: gl.constexpr, BLOCK_Q: gl.constexpr
):  # fmt: skip
    # blocks of queries first … last - 1 see these 128 keys, from `whole` on every query sees all of them
    last = (S_q + BLOCK_Q - 1) // BLOCK_Q
    first, whole = 0, 0
    if CAUSAL:
        shift = S_k - S_q
        first = gl.minimum(gl.maximum(first_column - shift, 0) // BLOCK_Q, last)
        whole = gl.minimum(
            (gl.maximum(first_column + 2 * KEYS - 1 - shift, 0) + BLOCK_Q - 1) // BLOCK_Q, last
        )
    if RAGGED:  # the keys of the last tile end within it
        whole = gl.where(first_column + 2 * KEYS > S_k, last, whole)
    return first, whole, last


@gluon.jit
def place_of(sizes):
    # program ids count tiles of 128 keys, the same tile of GROUP heads in a row; under a causal mask most
    # queries see the first keys: they start first
    H, H_K, S_q, S_k, S_PADDED, GROUP, TILES = sizes  # noqa: RUF059
    pid = gl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    return bh // H_K, bh % H_K, in_group // GROUP * 2 * KEYS


@gluon.jit
def load(
    descriptors, kv, rings, kv_full, barriers, sizes,
    CAUSAL: gl.constexpr, RAGGED: gl.constexpr, BLOCK_Q: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    # the producer: K and V once, then Q with LSE and dO with delta, for every head that K and V serve
    q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc = descriptors
    k, v = kv
    q_ring, do_ring, lse_ring, delta_ring = rings
    q_full, q_empty, do_full, do_empty = barriers
    H, H_K, S_q, S_k, S_PADDED, GROUP, TILES = sizes  # noqa: RUF059
    b, h_k, first_column = place_of(sizes)
    k_box = k._reinterpret(k_desc.dtype, k_desc.block_type.shape, k_desc.layout)
    mbarrier.expect(kv_full, k_desc.block_type.nbytes + 2 * v_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(k_desc, [b, h_k, first_column, 0], kv_full, k_box)
    for c in gl.static_range(2):
        v_box = v.index(c)._reinterpret(v_desc.dtype, v_desc.block_type.shape, v_desc.layout)
        tma.async_copy_global_to_shared(v_desc, [b, h_k, first_column + c * KEYS, 0], kv_full, v_box)
    first, _, last = queries_of(first_column, S_q, S_k, CAUSAL, RAGGED, BLOCK_Q)
    taken = 0
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        for block in range(first, last):
            start = block * BLOCK_Q
            slot, phase = taken % STAGES, taken // STAGES % 2
            padded = (b * H + h) * S_PADDED + start
            mbarrier.wait(q_empty.index(slot), phase ^ 1)
            mbarrier.expect(q_full.index(slot), q_desc.block_type.nbytes + lse_desc.block_type.nbytes)
            q_box = q_ring.index(slot)._reinterpret(q_desc.dtype, q_desc.block_type.shape, q_desc.layout)
            tma.async_copy_global_to_shared(q_desc, [b, h, start, 0], q_full.index(slot), q_box)
            tma.async_copy_global_to_shared(lse_desc, [padded], q_full.index(slot), lse_ring.index(slot))
            mbarrier.wait(do_empty.index(slot), phase ^ 1)
            mbarrier.expect(do_full.index(slot), do_desc.block_type.nbytes + delta_desc.block_type.nbytes)
            do_box = do_ring.index(slot)._reinterpret(do_desc.dtype, do_desc.block_type.shape, do_desc.layout)
            tma.async_copy_global_to_shared(do_desc, [b, h, start, 0], do_full.index(slot), do_box)
            tma.async_copy_global_to_shared(delta_desc, [padded], do_full.index(slot), delta_ring.index(slot))
            taken += 1


@gluon.jit
def scan(
    dk, dv, dq_desc, kv, rings, exchanged, barriers, scale, taken, b, h, first, last, columns, S_q, S_k,
    MASKED: gl.constexpr, CAUSAL: gl.constexpr, BLOCK_Q: gl.constexpr, D: gl.constexpr,
    STAGES: gl.constexpr, CONSUMER: gl.constexpr,
):  # fmt: skip
    # blocks of queries first … last - 1; Sᵀ, Pᵀ, dPᵀ and dSᵀ are [64 keys, BLOCK_Q queries]
    k, v = kv
    q_ring, do_ring, lse_ring, delta_ring = rings
    ds_tile, dq_tiles, ds_written, ds_read = exchanged
    q_full, q_empty, do_full, do_empty = barriers
    scores: gl.constexpr = accumulator(BLOCK_Q)
    of_queries: gl.constexpr = gl.SliceLayout(0, scores)
    own_k, own_v = k.slice(CONSUMER * KEYS, KEYS, dim=0), v.index(CONSUMER)
    own_ds = ds_tile.slice(CONSUMER * KEYS, KEYS, dim=0)
    dq_tile = dq_tiles.index(CONSUMER)
    dq_box = dq_tile._reinterpret(dq_desc.dtype, dq_desc.block_type.shape, dq_desc.layout)
    for block in range(first, last):
        start = block * BLOCK_Q
        slot, phase = taken % STAGES, taken // STAGES % 2
        q, do = q_ring.index(slot), do_ring.index(slot)
        mbarrier.wait(q_full.index(slot), phase)
        s = gl.zeros([KEYS, BLOCK_Q], gl.float32, layout=scores)
        s = warpgroup_mma(own_k, q.permute([1, 0]), s, use_acc=False, is_async=True)
        mbarrier.wait(do_full.index(slot), phase)
        dp = gl.zeros([KEYS, BLOCK_Q], gl.float32, layout=scores)
        dp = warpgroup_mma(own_v, do.permute([1, 0]), dp, use_acc=False, is_async=True)
        lse = lse_ring.index(slot).load(of_queries)
        s = warpgroup_mma_wait(1, deps=[s])
        p = gl.exp2(s * scale - lse[None, :])  # under it runs dPᵀ
        if MASKED:
            rows = start + gl.arange(0, BLOCK_Q, layout=of_queries)
            seen = (columns < S_k)[:, None]
            if CAUSAL:
                seen = seen & (columns[:, None] <= (rows + S_k - S_q)[None, :])
            p = gl.where(seen, p, 0.0)
        p16 = gl.convert_layout(p.to(q.dtype), operand_a(dv.type.layout))
        delta = delta_ring.index(slot).load(of_queries)
        dp = warpgroup_mma_wait(0, deps=[dp])
        dv = warpgroup_mma(p16, do, dv, is_async=True)
        ds = (p * (dp - delta[None, :])).to(q.dtype)  # under it runs dV
        mbarrier.wait(ds_read, taken % 2 ^ 1)  # both consumers are done with the dSᵀ before
        own_ds.store(ds)
        fence_async_shared()  # the tensor cores see what ordinary stores wrote
        mbarrier.arrive(ds_written, count=1)
        ds = gl.convert_layout(ds, operand_a(dk.type.layout))
        mbarrier.wait(ds_written, taken % 2)
        dq = gl.zeros([HALF, HALF], gl.float32, layout=accumulator(HALF))
        if D == 128:  # 64 queries: this consumer's half of the columns
            dq = warpgroup_mma(
                ds_tile.permute([1, 0]),
                k.slice(CONSUMER * HALF, HALF, dim=1),
                dq,
                use_acc=False,
                is_async=True,
            )
        elif BLOCK_Q == 128:  # its half of the queries
            dq = warpgroup_mma(
                ds_tile.slice(CONSUMER * HALF, HALF, dim=1).permute([1, 0]),
                k,
                dq,
                use_acc=False,
                is_async=True,
            )
        dk = warpgroup_mma(ds, q, dk, is_async=True)
        dv, dq = warpgroup_mma_wait(1, deps=[dv, dq])
        mbarrier.arrive(do_empty.index(slot), count=1)
        mbarrier.arrive(ds_read, count=1)
        tma.store_wait(0)  # the copy engine has read the dQ before
        dq_tile.store(dq)  # under it runs dK
        fence_async_shared()
        if D == 128:
            async_add_shared_to_global(dq_desc, [b, h, start, CONSUMER * HALF], dq_box)
        else:
            async_add_shared_to_global(dq_desc, [b, h, start + CONSUMER * HALF, 0], dq_box)
        dk = warpgroup_mma_wait(0, deps=[dk])
        mbarrier.arrive(q_empty.index(slot), count=1)
        taken += 1
    return dk, dv, taken


@gluon.jit
def multiply(
    dq_desc, dk_desc, dv_desc, kv, rings, exchanged, kv_full, barriers, alpha, scale, sizes,
    CAUSAL: gl.constexpr, RAGGED: gl.constexpr, BLOCK_Q: gl.constexpr, D: gl.constexpr,
    STAGES: gl.constexpr, CONSUMER: gl.constexpr,
):  # fmt: skip
    # a consumer: 64 keys, all queries that see them
    H, H_K, S_q, S_k, S_PADDED, GROUP, TILES = sizes  # noqa: RUF059
    b, h_k, first_column = place_of(sizes)
    output: gl.constexpr = accumulator(D)
    own_column = first_column + CONSUMER * KEYS
    columns = own_column + gl.arange(0, KEYS, layout=gl.SliceLayout(1, accumulator(BLOCK_Q)))
    dk = gl.zeros([KEYS, D], gl.float32, layout=output)
    dv = gl.zeros([KEYS, D], gl.float32, layout=output)
    first, whole, last = queries_of(first_column, S_q, S_k, CAUSAL, RAGGED, BLOCK_Q)
    mbarrier.wait(kv_full, 0)
    taken = 0
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        if CAUSAL or RAGGED:
            dk, dv, taken = scan(
                dk, dv, dq_desc, kv, rings, exchanged, barriers, scale, taken, b, h, first, whole,
                columns, S_q, S_k, True, CAUSAL, BLOCK_Q, D, STAGES, CONSUMER,
            )  # fmt: skip
        dk, dv, taken = scan(
            dk, dv, dq_desc, kv, rings, exchanged, barriers, scale, taken, b, h, whole, last,
            columns, S_q, S_k, False, CAUSAL, BLOCK_Q, D, STAGES, CONSUMER,
        )  # fmt: skip
    v = kv[1].index(CONSUMER)  # nobody else reads it, and it has been read for the last time
    box = v._reinterpret(dv_desc.dtype, dv_desc.block_type.shape, dv_desc.layout)
    v.store(dv.to(dv_desc.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dv_desc, [b, h_k, own_column, 0], box)
    tma.store_wait(0)
    v.store((dk * alpha).to(dk_desc.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dk_desc, [b, h_k, own_column, 0], box)
    tma.store_wait(0)
