"""FlashAttention-3's backward pass: five products per block, and dQ added up by the copy engine.

    >>> o, lse = fa3_forward(q, k, v, causal=True)
    >>> dq, dk, dv = fa3_backward(q, k, v, o, do, lse, causal=True)      # each like its input

A program owns 128 keys, two consumer warpgroups 64 each, and a producer warp sends the blocks of queries
past them. Sᵀ = K Qᵀ and dPᵀ = V dOᵀ have keys as rows, so that Pᵀ and dSᵀ feed dV and dK from registers. For
dQ the consumers exchange dSᵀ through shared memory, each computes half of the columns, and the copy engine
adds them to an fp32 sum in global memory. Sums are added in no fixed order, so two calls may differ in the
last bits. Sources: FlashAttention-3 (Shah et al., 2024, section 3 and appendix B.1), FlashAttention-2 (Dao,
2023, algorithm 2). The contract is that of `tuned_backward`, for D 64 or 128 in fp16 or bf16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from flashlearn.kernels.compiled_launches import Call, launch
from flashlearn.kernels.described import complying, heads_together, like
from flashlearn.kernels.gluon.fa3_backward_load import block_at, first_query_block, load
from flashlearn.kernels.gluon.fa3_backward_scan import (
    KEYS,
    SLOTS,
    add_to_dq,
    part_of_dq,
    scan_queries_past_keys,
)
from flashlearn.kernels.gluon.fa3_forward import multiprocessors
from flashlearn.kernels.gluon.forward_tiles import learn
from flashlearn.kernels.gluon.parts import accumulator, operand_a, refuse_unknown, rows_of_heads, tiles_of
from flashlearn.kernels.tuned_backward import PADDED, delta_and_lse_kernel, delta_call
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

__all__ = ["fa3_backward"]


@gluon.jit
def multiply(
    outputs, tiles, exchange, dq_tiles, barriers, schedule, alpha, scale, sizes,
    CAUSAL: gl.constexpr, RAGGED: gl.constexpr, D: gl.constexpr,
    BLOCK_Q: gl.constexpr, STAGES: gl.constexpr, CONSUMER: gl.constexpr, REGISTERS: gl.constexpr,
    FLAT: gl.constexpr, OPAQUE: gl.constexpr, LAG: gl.constexpr, KV_STAGES: gl.constexpr,
    STAGGER: gl.constexpr,
    PERSISTENT: gl.constexpr,
):  # fmt: skip
    # a consumer, for one block of keys, or, where programs stay, for one after the other
    next_tile, tile_known, tile_read = schedule
    taken, turn = 0, 0
    if PERSISTENT:
        total = sizes[7]
        tile = learn(next_tile, tile_known, tile_read, turn)
        while tile < total:
            taken = multiply_tile(
                tile, outputs, tiles, exchange, dq_tiles, barriers, alpha, scale, sizes, taken, turn, CAUSAL,
                RAGGED, D, BLOCK_Q, STAGES, CONSUMER, REGISTERS, FLAT, OPAQUE, LAG, KV_STAGES, STAGGER,
            )  # fmt: skip
            turn += 1
            tile = learn(next_tile, tile_known, tile_read, turn)
    else:
        multiply_tile(
            gl.program_id(0), outputs, tiles, exchange, dq_tiles, barriers, alpha, scale, sizes, taken, turn,
            CAUSAL, RAGGED, D, BLOCK_Q, STAGES, CONSUMER, REGISTERS, FLAT, OPAQUE, LAG, KV_STAGES, STAGGER,
        )  # fmt: skip


@gluon.jit
def multiply_tile(
    tile, outputs, tiles, exchange, dq_tiles, barriers, alpha, scale, sizes, taken, turn,
    CAUSAL: gl.constexpr, RAGGED: gl.constexpr, D: gl.constexpr,
    BLOCK_Q: gl.constexpr, STAGES: gl.constexpr, CONSUMER: gl.constexpr, REGISTERS: gl.constexpr,
    FLAT: gl.constexpr, OPAQUE: gl.constexpr, LAG: gl.constexpr, KV_STAGES: gl.constexpr,
    STAGGER: gl.constexpr,
):  # fmt: skip
    # 64 of the block's keys
    dq_desc, dk_desc, dv_desc = outputs
    k_tiles, v_tiles, _, _, _, _ = tiles
    kv_full, kv_empty, _, _, exchanged = barriers
    H, H_K, S_q, S_k, S_PADDED, _, _, _ = sizes
    b, h_k, first_column, first, whole, last = block_at(tile, sizes, CAUSAL, BLOCK_Q)
    first_column += CONSUMER * KEYS
    columns = first_column + gl.arange(0, KEYS, gl.SliceLayout(1, accumulator(BLOCK_Q)))
    start = first_query_block(first_column, sizes, last, CAUSAL, STAGGER)
    place = turn % KV_STAGES
    kv = place * 2
    k = k_tiles.index(kv + CONSUMER).reshape([KEYS, D])
    v = v_tiles.index(kv + CONSUMER).reshape([KEYS, D])
    dq_tile = dq_tiles.index(CONSUMER)
    dk = gl.zeros([KEYS, D], gl.float32, accumulator(D))
    dv = gl.zeros([KEYS, D], gl.float32, accumulator(D))
    if LAG:  # before the first block there is nothing: dS is zero, and so is what it adds to dQ
        zeros = gl.zeros([KEYS, BLOCK_Q], v_tiles.dtype, accumulator(BLOCK_Q))
        swapped = taken + turn
        exchange.index(swapped % 3 * 2 + CONSUMER).store(zeros)
        fence_async_shared()
        mbarrier.arrive(exchanged.index(swapped % 3), count=1)
    row_before = (b * H + h_k * (H // H_K)) * S_PADDED
    mbarrier.wait(kv_full.index(place), turn // KV_STAGES & 1)
    if REGISTERS:  # both are left operands of every block: shared memory is read once
        k = k.load(operand_a(accumulator(BLOCK_Q)))
        v = v.load(operand_a(accumulator(BLOCK_Q)))
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        dq_row = (b * H + h) * S_PADDED
        if CAUSAL:
            dk, dv, taken, row_before = scan_queries_past_keys(
                dk, dv, k, v, tiles, exchange, dq_tile, dq_desc, barriers, scale, dq_row, columns,
                S_k - S_q, S_k, taken, turn, kv, 0, last, first, whole, row_before, True, RAGGED, BLOCK_Q, D,
                STAGES, CONSUMER, FLAT, OPAQUE, LAG, REGISTERS,
            )  # fmt: skip
        dk, dv, taken, row_before = scan_queries_past_keys(
            dk, dv, k, v, tiles, exchange, dq_tile, dq_desc, barriers, scale, dq_row, columns,
            S_k - S_q, S_k, taken, turn, kv, start, last, gl.maximum(first, whole), last, row_before, False,
            RAGGED, BLOCK_Q, D, STAGES, CONSUMER, FLAT, OPAQUE, LAG, REGISTERS,
        )  # fmt: skip
    if LAG:
        swapped = taken + turn
        mbarrier.wait(exchanged.index(swapped % 3), swapped // 3 & 1)
        dq = part_of_dq(k_tiles, exchange, swapped % 3, kv, BLOCK_Q, D, CONSUMER)
        dq = warpgroup_mma_wait(0, deps=[dq])
        add_to_dq(dq_desc, dq_tile, dq, row_before, D, CONSUMER, FLAT)
    # V of this consumer is done with: its buffer takes dV, and then dK
    box = v_tiles.index(kv + CONSUMER)
    out = box.reshape([KEYS, D])
    out.store(dv.to(v_tiles.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dv_desc, [b, h_k, first_column, 0], box)
    tma.store_wait(0)
    out.store((dk * alpha).to(v_tiles.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dk_desc, [b, h_k, first_column, 0], box)
    tma.store_wait(0)
    mbarrier.arrive(kv_empty.index(place), count=1)
    return taken


@gluon.jit
def ring(SLOTS: gl.constexpr, ARRIVALS: gl.constexpr):
    # SLOTS barriers, each of which completes a phase when ARRIVALS arrivals have come, and their bytes
    barriers = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(barriers.index(slot), count=ARRIVALS)
    return barriers


@gluon.jit(do_not_specialize=["GROUP", "TILES", "S_PADDED", "total"])
def fa3_backward_kernel(
    q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc, dq_desc, dk_desc, dv_desc, counter_ptr,
    alpha, scale, H, H_K, S_q, S_k, S_PADDED, GROUP, TILES, total,
    CAUSAL: gl.constexpr, RAGGED: gl.constexpr, STAGES: gl.constexpr, REGISTERS: gl.constexpr,
    FLAT: gl.constexpr, OPAQUE: gl.constexpr, LAG: gl.constexpr, KV_STAGES: gl.constexpr,
    STAGGER: gl.constexpr,
    PERSISTENT: gl.constexpr,
):  # fmt: skip
    BLOCK_Q: gl.constexpr = q_desc.block_type.shape[2]
    D: gl.constexpr = q_desc.block_type.shape[3]
    PLACES: gl.constexpr = SLOTS if LAG else 2
    k_tiles = gl.allocate_shared_memory(k_desc.dtype, [2 * KV_STAGES, 1, 1, KEYS, D], k_desc.layout)
    v_tiles = gl.allocate_shared_memory(v_desc.dtype, [2 * KV_STAGES, 1, 1, KEYS, D], v_desc.layout)
    q_ring = gl.allocate_shared_memory(q_desc.dtype, [STAGES, 1, 1, BLOCK_Q, D], q_desc.layout)
    do_ring = gl.allocate_shared_memory(do_desc.dtype, [STAGES, 1, 1, BLOCK_Q, D], do_desc.layout)
    lse_ring = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK_Q], lse_desc.layout)
    delta_ring = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK_Q], delta_desc.layout)
    dst: gl.constexpr = gl.NVMMASharedLayout.get_default_for([KEYS, BLOCK_Q], q_desc.dtype)
    exchange = gl.allocate_shared_memory(q_desc.dtype, [PLACES * 2, KEYS, BLOCK_Q], dst)
    dq_rows: gl.constexpr = dq_desc.block_type.shape[0]
    dq_columns: gl.constexpr = dq_desc.block_type.shape[1]
    dq_tiles = gl.allocate_shared_memory(gl.float32, [2, dq_rows, dq_columns], dq_desc.layout)
    kv_full, kv_empty = ring(KV_STAGES, 1), ring(KV_STAGES, 2)
    full, empty = ring(STAGES, 1), ring(STAGES, 2)
    exchanged = ring(PLACES, 2)  # both consumers have written their dSᵀ
    tiles = (k_tiles, v_tiles, q_ring, do_ring, lse_ring, delta_ring)
    barriers = (kv_full, kv_empty, full, empty, exchanged)
    sizes = (H, H_K, S_q, S_k, S_PADDED, GROUP, TILES, total)
    # which block of keys is next: only the producer knows, and tells the consumers
    next_tile = gl.allocate_shared_memory(gl.int32, [2, 1], gl.SwizzledSharedLayout(1, 1, 1, order=[0]))
    schedule = (next_tile, ring(2, 1), ring(2, 2))
    inputs = (q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc)
    outputs = (dq_desc, dk_desc, dv_desc)
    gl.warp_specialize(  # registers: 2 · 128 · 240 + 128 · 24 of 65536
        [
            (multiply, (outputs, tiles, exchange, dq_tiles, barriers, schedule, alpha, scale, sizes,
                        CAUSAL, RAGGED, D, BLOCK_Q, STAGES, 0, REGISTERS, FLAT, OPAQUE, LAG,
                        KV_STAGES, STAGGER, PERSISTENT)),
            (multiply, (outputs, tiles, exchange, dq_tiles, barriers, schedule, alpha, scale, sizes,
                        CAUSAL, RAGGED, D, BLOCK_Q, STAGES, 1, REGISTERS, FLAT, OPAQUE, LAG,
                        KV_STAGES, STAGGER, PERSISTENT)),
            (load, (inputs, counter_ptr, tiles, barriers, schedule, sizes, CAUSAL, STAGES, KV_STAGES,
                    PERSISTENT, STAGGER)),
        ],
        [4, 1], [240, 24],
    )  # fmt: skip


@triton.jit
def prepare_kernel(
    o_ptr, do_ptr, lse_ptr, delta_ptr, lse2_ptr, sum_ptr, H, S, S_PADDED, D,
    o_batch, o_head, o_row, o_col, do_batch, do_head, do_row, do_col,
    BLOCK_Q: tl.constexpr, BLOCK_D: tl.constexpr,
):  # fmt: skip
    # delta and LSE as in lesson 12, and zeros into these rows of dQ's sum; the first program also into the
    # four rows after the last one, of which one number counts blocks of keys
    SIZE: tl.constexpr = BLOCK_Q * BLOCK_D
    at = tl.arange(0, SIZE)
    zeros = tl.zeros((SIZE,), tl.float32)
    tl.store(sum_ptr + tl.program_id(0).to(tl.int64) * SIZE + at, zeros)
    after = (tl.program_id(0) == 0) & (at < 4 * BLOCK_D)
    tl.store(sum_ptr + tl.num_programs(0).to(tl.int64) * SIZE + at, zeros, mask=after)
    delta_and_lse_kernel(
        o_ptr, do_ptr, lse_ptr, delta_ptr, lse2_ptr, H, S, S_PADDED, D,
        o_batch, o_head, o_row, o_col, do_batch, do_head, do_row, do_col, BLOCK_Q, BLOCK_D,
    )  # fmt: skip


def prepare_call(o: Tensor, do: Tensor, lse: Tensor, delta: Tensor, lse2: Tensor, sums: Tensor) -> Call:
    """The launch that fills delta and lse2, and zeroes the sums."""
    call = delta_call(o, do, lse, delta, lse2)
    arguments = (*call.arguments[:5], sums, *call.arguments[5:])
    return Call(prepare_kernel, call.grid, arguments, call.constants, call.options)


@triton.jit
def finish_flat_dq_kernel(sum_ptr, dq_ptr, alpha, S_q, S_PADDED, D: tl.constexpr):
    # the same where the sum lies as the threads of a consumer held it; programs own 64 rows
    tiles = S_PADDED // 64
    bh = (tl.program_id(0) // tiles).to(tl.int64)
    first = tl.program_id(0) % tiles * 64
    N: tl.constexpr = D // 16  # of each half: eights of columns
    held = tl.load(sum_ptr + (bh * S_PADDED + first) * D + tl.arange(0, 64 * D))
    # half, eight of columns, warp, row of eight, pair of columns, row or the one 8 on, column of the pair
    held = tl.reshape(held * alpha, (2, N, 4, 8, 4, 2, 2)).to(dq_ptr.dtype.element_ty)
    dq = tl.reshape(tl.permute(held, (2, 5, 3, 0, 1, 4, 6)), (64, D))
    rows = first + tl.arange(0, 64)
    at = (bh * S_q + rows)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(dq_ptr + at, dq, mask=(rows < S_q)[:, None])


@triton.jit
def finish_dq_kernel(sum_ptr, dq_ptr, alpha, S_q, S_PADDED, D: tl.constexpr, BLOCK: tl.constexpr):
    # dQ = alpha · the sum over keys, in the inputs' dtype; programs own BLOCK rows of one head
    tiles = S_PADDED // BLOCK
    bh = (tl.program_id(0) // tiles).to(tl.int64)
    rows = tl.program_id(0) % tiles * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, D)
    total = tl.load(sum_ptr + (bh * S_PADDED + rows)[:, None] * D + d[None, :])
    dq = (total * alpha).to(dq_ptr.dtype.element_ty)
    tl.store(dq_ptr + (bh * S_q + rows)[:, None] * D + d[None, :], dq, mask=(rows < S_q)[:, None])


def runs_of(sums: Tensor, runs: int) -> TensorDescriptor:
    """The dense fp32 sums in blocks of so many runs of 256 numbers, as they lie."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=2)
    return TensorDescriptor(sums, [sums.numel() // 256, 256], [256, 1], [runs, 256], layout)


def flat(t: Tensor, block: int = 64) -> TensorDescriptor:
    """t, dense, as one row of fp32 numbers in blocks, as they lie."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=1)
    return TensorDescriptor(t, [t.numel()], [1], [block], layout)


@dataclass(frozen=True)
class BackwardCut:
    """How the work is cut. `flat`: the fp32 sum of dQ lies as the threads hold it, not row by row."""

    flat: bool = True
    opaque: bool = True
    lag: bool = True
    block_q: int = 64
    persistent: bool = False
    kv_stages: int = 1
    stagger: bool = False
    zeros_with_delta: bool = False
    stages: int = 2
    registers: bool | None = None


def fa3_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool = False,
    alpha: float | None = None, cut: BackwardCut | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """dQ, dK and dV, each of its input's shape and dtype; o and lse as `fa3_forward` returned them.

    Any strides; `alpha` is 1/√D unless given. Raises TypeError or ValueError for what does not go together
    or is not for these kernels.
    """
    refuse_misfits(q, k, v)
    refuse_unknown(q)
    q, k, v, do = complying(q), complying(k), complying(v), complying(do)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    cut = cut or BackwardCut()
    padded = triton.cdiv(S_q, PADDED) * PADDED
    lse = lse.contiguous()
    delta, lse2 = torch.empty((2, B * H, padded), dtype=torch.float32, device=q.device)
    made = torch.empty if cut.zeros_with_delta else torch.zeros
    dq_sum = made((B * H * padded + 4, D), dtype=torch.float32, device=q.device)
    counter = dq_sum[B * H * padded :].view(torch.int32).view(-1)  # begins at 0, as the sums do
    dq, dk, dv = like(q, q.shape), like(k, k.shape), like(v, v.shape)

    def calls() -> list[Call]:
        tiles = triton.cdiv(S_k, 128)
        group = heads_together(B * H_k, tiles, 2 * D * q.element_size() * S_q * H // H_k, causal)
        programs = tiles * B * H_k
        if cut.persistent:
            programs = min(programs, multiprocessors(q.device))
        part = D // 2 if cut.block_q == 64 else D  # columns of dQ that a consumer computes
        arguments = (
            rows_of_heads(q, cut.block_q), rows_of_heads(k, 64), rows_of_heads(v, 64),
            rows_of_heads(do, cut.block_q), flat(lse2, cut.block_q), flat(delta, cut.block_q),
            runs_of(dq_sum, part // 4) if cut.flat else tiles_of(dq_sum, [64, part]),
            rows_of_heads(dk, 64), rows_of_heads(dv, 64), counter,
            alpha, alpha * LOG2_E, H, H_k, S_q, S_k, padded, group, tiles, tiles * B * H_k,
        )  # fmt: skip
        constants = {
            "CAUSAL": causal,
            "RAGGED": S_k % 128 != 0,
            "STAGES": cut.stages,
            "FLAT": cut.flat,
            "OPAQUE": cut.opaque,
            "LAG": cut.lag,
            "KV_STAGES": cut.kv_stages,
            "PERSISTENT": cut.persistent,
            "STAGGER": cut.stagger,
        }
        constants["REGISTERS"] = (D, cut.block_q) == (64, 64) if cut.registers is None else cut.registers
        finish, blocks = (finish_flat_dq_kernel, {}) if cut.flat else (finish_dq_kernel, {"BLOCK": 64})
        return [
            prepare_call(o, do, lse, delta, lse2, dq_sum)
            if cut.zeros_with_delta
            else delta_call(o, do, lse, delta, lse2),
            Call(fa3_backward_kernel, (programs,), arguments, constants, {"num_warps": 4}),
            Call(
                finish, (padded // 64 * B * H,), (dq_sum, dq, alpha, S_q, padded),
                {"D": D, **blocks},
            ),
        ]  # fmt: skip

    strides = (q.stride(), k.stride(), v.stride(), o.stride(), do.stride())
    key = ("fa3 backward", causal, alpha, cut, q.dtype, q.device, q.shape, k.shape, *strides)
    launch(key, (q, k, v, o, do, lse, delta, lse2, dq_sum, counter, dq, dk, dv), calls)
    return dq, dk, dv
