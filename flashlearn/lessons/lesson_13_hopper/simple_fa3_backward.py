"""FlashAttention-3's backward pass, short: keys stay, queries come by, the copy engine adds dQ.

    >>> dq, dk, dv = fa3_backward(q, k, v, o, do, lse, causal=True)     # each like its input

A program owns 128 keys of one head of K and V, 64 per consumer, and sees the queries of every head that
shares them. Sᵀ and dPᵀ have keys as rows, so that Pᵀ and dSᵀ are left operands of dV and dK from registers;
for dQ dSᵀ goes through shared memory. `flashlearn.kernels.gluon.fa3_backward` differs: its consumers share
dS, its dQ lags a block behind, LSE and delta come by TMA. Sources: FlashAttention-3 (Shah et al., 2024, appendix B.1),
FlashAttention-2 (Dao, 2023, algorithm 2). The lines between BEGIN and END SOLUTION are the project.
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
from flashlearn.kernels.gluon.parts import accumulator, operand_a, refuse_unknown, rows_of_heads, tiles_of
from flashlearn.kernels.gluon.tma_add import async_add_shared_to_global
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

__all__ = ["fa3_backward"]

KEYS = gl.constexpr(64)
BLOCK_Q = gl.constexpr(64)
PART = gl.constexpr(64)


@gluon.jit
def ring_of_barriers(SLOTS: gl.constexpr, ARRIVALS: gl.constexpr):
    barriers = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(barriers.index(slot), count=ARRIVALS)
    return barriers


@gluon.jit
def keys_of(sizes, CAUSAL: gl.constexpr):
    # this program's batch entry, head of K and V, and first key; the blocks of queries that see its keys
    _, H_K, S_q, S_k, _ = sizes
    b, h_k = gl.program_id(1) // H_K, gl.program_id(1) % H_K
    first_key = gl.program_id(0) * 2 * KEYS
    first = 0
    if CAUSAL:  # query i sees the keys up to i + S_k - S_q
        first = gl.maximum(first_key - (S_k - S_q), 0) // BLOCK_Q
    return b, h_k, first_key, first, gl.cdiv(S_q, BLOCK_Q)


@gluon.jit
def bring_queries(
    q_desc, k_desc, v_desc, do_desc, tiles, barriers, sizes, CAUSAL: gl.constexpr, STAGES: gl.constexpr
):
    k_tiles, v_tiles, q_ring, do_ring, _, _ = tiles
    kv_full, full, empty = barriers
    H, H_K, _, _, _ = sizes
    b, h_k, first_key, first, end = keys_of(sizes, CAUSAL)
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO fa3_backward: K and V once; Q and dO of every head, block by block")
    mbarrier.expect(kv_full.index(0), 2 * (k_desc.block_type.nbytes + v_desc.block_type.nbytes))
    for c in gl.static_range(2):
        at = [b, h_k, first_key + c * KEYS, 0]
        tma.async_copy_global_to_shared(k_desc, at, kv_full.index(0), k_tiles.index(c))
        tma.async_copy_global_to_shared(v_desc, at, kv_full.index(0), v_tiles.index(c))
    taken = 0
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        for i in range(first, end):
            slot, phase = taken % STAGES, taken // STAGES % 2
            mbarrier.wait(empty.index(slot), phase ^ 1)
            mbarrier.expect(full.index(slot), q_desc.block_type.nbytes + do_desc.block_type.nbytes)
            at_q = [b, h, i * BLOCK_Q, 0]
            tma.async_copy_global_to_shared(q_desc, at_q, full.index(slot), q_ring.index(slot))
            tma.async_copy_global_to_shared(do_desc, at_q, full.index(slot), do_ring.index(slot))
            taken += 1
    ### END SOLUTION


@gluon.jit
def add_dq(dq_desc, dq_tile, ds_tile, k, row):
    # dS of these 64 keys times K, PART columns at a time, added to the sum in global memory
    D: gl.constexpr = k.shape[1]
    nothing = gl.zeros([BLOCK_Q, PART], gl.float32, layout=accumulator(PART))
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO fa3_backward: a product, a free tile, the engine's addition")
    for part in gl.static_range(D // PART):
        some_k = k.slice(part * PART, PART, dim=1)
        dq = warpgroup_mma(ds_tile.permute([1, 0]), some_k, nothing, use_acc=False, is_async=True)
        dq = warpgroup_mma_wait(0, deps=[dq])
        tma.store_wait(0)  # the copy engine has read what the tile held before
        dq_tile.store(dq)
        fence_async_shared()
        async_add_shared_to_global(dq_desc, [row, part * PART], dq_tile)
    ### END SOLUTION


@gluon.jit
def gradients(
    outputs, numbers, tiles, barriers, alpha, scale, sizes,
    CAUSAL: gl.constexpr, STAGES: gl.constexpr, CONSUMER: gl.constexpr,
):  # fmt: skip
    dq_desc, dk_desc, dv_desc = outputs
    lse_ptr, delta_ptr = numbers
    D: gl.constexpr = dk_desc.block_type.shape[3]
    scores: gl.constexpr = accumulator(BLOCK_Q)
    query: gl.constexpr = gl.SliceLayout(0, scores)
    left: gl.constexpr = operand_a(accumulator(D))
    k_tiles, v_tiles, q_ring, do_ring, ds_tiles, dq_tiles = tiles
    kv_full, full, empty = barriers
    H, H_K, S_q, S_k, PADDED = sizes
    b, h_k, first_key, first, end = keys_of(sizes, CAUSAL)
    first_key += CONSUMER * KEYS
    keys = first_key + gl.arange(0, KEYS, layout=gl.SliceLayout(1, scores))
    k = k_tiles.index(CONSUMER).reshape([KEYS, D])
    v = v_tiles.index(CONSUMER).reshape([KEYS, D])
    ds_tile = ds_tiles.index(CONSUMER)
    dk = gl.zeros([KEYS, D], gl.float32, layout=accumulator(D))
    dv = gl.zeros([KEYS, D], gl.float32, layout=accumulator(D))
    nothing = gl.zeros([KEYS, BLOCK_Q], gl.float32, layout=scores)
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO fa3_backward: five products per block of queries, in their order")
    mbarrier.wait(kv_full.index(0), 0)
    taken = 0
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        for i in range(first, end):
            slot = taken % STAGES
            q = q_ring.index(slot).reshape([BLOCK_Q, D])
            do = do_ring.index(slot).reshape([BLOCK_Q, D])
            row = (b * H + h) * PADDED + i * BLOCK_Q
            queries = gl.arange(0, BLOCK_Q, layout=query)
            mbarrier.wait(full.index(slot), taken // STAGES % 2)
            s = warpgroup_mma(k, q.permute([1, 0]), nothing, use_acc=False, is_async=True)
            dp = warpgroup_mma(v, do.permute([1, 0]), nothing, use_acc=False, is_async=True)
            lse = gl.load(lse_ptr + row + queries)  # in base 2; +inf for who sees no key, or is none
            delta = gl.load(delta_ptr + row + queries)
            s = warpgroup_mma_wait(1, deps=[s])  # S is here; dP goes on under the exponentials
            p = gl.exp2(s * scale - lse[None, :])
            last_seen = gl.full([BLOCK_Q], S_k - 1, gl.int32, layout=query)
            if CAUSAL:
                last_seen = gl.minimum(i * BLOCK_Q + queries + S_k - S_q, S_k - 1)
            p = gl.where(keys[:, None] <= last_seen[None, :], p, 0.0)
            dp = warpgroup_mma_wait(0, deps=[dp])
            ds = (p * (dp - delta[None, :])).to(q.dtype)
            ds_tile.store(ds)
            fence_async_shared()  # the tensor core sees what ordinary stores wrote
            dv = warpgroup_mma(gl.convert_layout(p.to(q.dtype), left), do, dv, is_async=True)
            dk = warpgroup_mma(gl.convert_layout(ds, left), q, dk, is_async=True)
            dv, dk = warpgroup_mma_wait(0, deps=[dv, dk])
            mbarrier.arrive(empty.index(slot), count=1)
            add_dq(dq_desc, dq_tiles.index(CONSUMER), ds_tile, k, row)
            taken += 1
    tma.store_wait(0)
    dk = dk * alpha
    ### END SOLUTION
    v.store(dv.to(v.dtype))  # V is done with: its tile takes dV, and then dK
    fence_async_shared()
    tma.async_copy_shared_to_global(dv_desc, [b, h_k, first_key, 0], v_tiles.index(CONSUMER))
    tma.store_wait(0)
    v.store(dk.to(v.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dk_desc, [b, h_k, first_key, 0], v_tiles.index(CONSUMER))
    tma.store_wait(0)


@gluon.jit
def fa3_backward_kernel(
    q_desc, k_desc, v_desc, do_desc, dq_desc, dk_desc, dv_desc, lse_ptr, delta_ptr, alpha, scale,
    H, H_K, S_q, S_k, PADDED, CAUSAL: gl.constexpr, STAGES: gl.constexpr,
):  # fmt: skip
    D: gl.constexpr = q_desc.block_type.shape[3]
    k = gl.allocate_shared_memory(k_desc.dtype, [2, 1, 1, KEYS, D], k_desc.layout)
    v = gl.allocate_shared_memory(v_desc.dtype, [2, 1, 1, KEYS, D], v_desc.layout)
    q = gl.allocate_shared_memory(q_desc.dtype, [STAGES, 1, 1, BLOCK_Q, D], q_desc.layout)
    do = gl.allocate_shared_memory(do_desc.dtype, [STAGES, 1, 1, BLOCK_Q, D], do_desc.layout)
    dst: gl.constexpr = gl.NVMMASharedLayout.get_default_for([KEYS, BLOCK_Q], q_desc.dtype)
    ds = gl.allocate_shared_memory(q_desc.dtype, [2, KEYS, BLOCK_Q], dst)
    dq = gl.allocate_shared_memory(gl.float32, [2, BLOCK_Q, PART], dq_desc.layout)
    tiles = (k, v, q, do, ds, dq)
    sizes = (H, H_K, S_q, S_k, PADDED)
    numbers = (lse_ptr, delta_ptr)
    outputs = (dq_desc, dk_desc, dv_desc)
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO fa3_backward: barriers with their counts, and three partitions")
    kv_full, full, empty = ring_of_barriers(1, 1), ring_of_barriers(STAGES, 1), ring_of_barriers(STAGES, 2)
    barriers = (kv_full, full, empty)
    gl.warp_specialize(
        [
            (gradients, (outputs, numbers, tiles, barriers, alpha, scale, sizes, CAUSAL, STAGES, 0)),
            (gradients, (outputs, numbers, tiles, barriers, alpha, scale, sizes, CAUSAL, STAGES, 1)),
            (bring_queries, (q_desc, k_desc, v_desc, do_desc, tiles, barriers, sizes, CAUSAL, STAGES)),
        ],
        [4, 1],
        [240, 24],
    )
    ### END SOLUTION


def fa3_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool = False,
    alpha: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """dQ, dK and dV, each of its input's shape and dtype; o and lse as `fa3_forward` returned them.

    Raises TypeError or ValueError for what does not go together.
    """
    refuse_misfits(q, k, v)
    refuse_unknown(q)
    q, k, v, do = complying(q), complying(k), complying(v), complying(do)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    padded = triton.cdiv(S_q, 64) * 64
    dk, dv = like(k, k.shape), like(v, v.shape)
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO fa3_backward: delta, LSE in base 2, and a sum for dQ, all padded")
    delta = torch.zeros(B, H, padded, device=q.device)
    delta[:, :, :S_q] = (o.float() * do.float()).sum(-1)
    lse2 = torch.full((B, H, padded), math.inf, device=q.device)
    lse2[:, :, :S_q] = torch.where(lse == -math.inf, math.inf, lse * LOG2_E)
    dq_sum = torch.zeros(B * H * padded, D, device=q.device)
    ### END SOLUTION
    fa3_backward_kernel[(triton.cdiv(S_k, 128), B * H_k)](
        *(rows_of_heads(t, 64) for t in (q, k, v, do)), tiles_of(dq_sum, [64, 64]),
        *(rows_of_heads(t, 64) for t in (dk, dv)), lse2, delta, alpha, alpha * LOG2_E,
        H, H_k, S_q, S_k, padded, CAUSAL=causal, STAGES=2, num_warps=4,
    )  # fmt: skip
    dq = (alpha * dq_sum).view(B, H, padded, D)[:, :, :S_q].to(q.dtype)
    return dq, dk, dv
