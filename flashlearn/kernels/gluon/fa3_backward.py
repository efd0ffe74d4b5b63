"""FlashAttention-3's backward pass: five products per block, and dQ added up by the copy engine.

    >>> o, lse = fa3_forward(q, k, v, causal=True)
    >>> dq, dk, dv = fa3_backward(q, k, v, o, do, lse, causal=True)      # each like its input

A program owns 128 keys, two consumer warpgroups 64 each, and a producer warp sends the blocks of queries
past them. Sᵀ = K Qᵀ and dPᵀ = V dOᵀ have keys as rows, so that Pᵀ and dSᵀ feed dV and dK from registers. For
dQ the consumers exchange dSᵀ through shared memory, each computes half of the columns, and the copy engine
adds them to an fp32 sum in global memory. Sums are added in no fixed order, so two calls may differ in the
last bits. Sources: FlashAttention-3 (Shah et al., 2024, section 3 and appendix B.1), FlashAttention-2 (Dao,
2023, algorithm 2); the order of dQ's sum is that of FlashAttention-4's code (`flash_bwd_sm90.py`). The
contract is that of `tuned_backward`, for D 64 or 128 in fp16 or bf16.
"""

from __future__ import annotations

import math

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
from flashlearn.kernels.gluon.fa3_backward_load import block_at, load
from flashlearn.kernels.gluon.fa3_backward_scan import (
    BLOCK_Q,
    KEYS,
    add_to_dq,
    part_of_dq,
    scan_queries_past_keys,
)
from flashlearn.kernels.gluon.parts import accumulator, operand_a, refuse_unknown, rows_of_heads
from flashlearn.kernels.tuned_backward import PADDED, delta_call
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

__all__ = ["fa3_backward"]


@gluon.jit
def multiply(
    outputs, tiles, exchange, dq_tiles, barriers, alpha, scale, sizes,
    CAUSAL: gl.constexpr, RAGGED: gl.constexpr, D: gl.constexpr,
    STAGES: gl.constexpr, CONSUMER: gl.constexpr, REGISTERS: gl.constexpr,
):  # fmt: skip
    # a consumer: 64 of the program's keys
    dq_desc, dk_desc, dv_desc = outputs
    k_tiles, v_tiles, _, _, _, _ = tiles
    kv_full, _, _, exchanged = barriers
    H, H_K, S_q, S_k, S_PADDED, _, _ = sizes
    b, h_k, first_column, first, whole, last = block_at(sizes, CAUSAL)
    first_column += CONSUMER * KEYS
    columns = first_column + gl.arange(0, KEYS, gl.SliceLayout(1, accumulator(BLOCK_Q)))
    k = k_tiles.index(CONSUMER).reshape([KEYS, D])
    v = v_tiles.index(CONSUMER).reshape([KEYS, D])
    dq_tile = dq_tiles.index(CONSUMER)
    dk = gl.zeros([KEYS, D], gl.float32, accumulator(D))
    dv = gl.zeros([KEYS, D], gl.float32, accumulator(D))
    # before the first block there is nothing: dS is zero, and so is what it adds to dQ
    zeros = gl.zeros([KEYS, BLOCK_Q], v_tiles.dtype, accumulator(BLOCK_Q))
    exchange.index(CONSUMER).store(zeros)
    fence_async_shared()
    mbarrier.arrive(exchanged.index(0), count=1)
    row_before = (b * H + h_k * (H // H_K)) * S_PADDED
    mbarrier.wait(kv_full.index(0), 0)
    if REGISTERS:  # both are left operands of every block: shared memory is read once
        k = k.load(operand_a(accumulator(BLOCK_Q)))
        v = v.load(operand_a(accumulator(BLOCK_Q)))
    taken = 0
    for h in range(h_k * (H // H_K), (h_k + 1) * (H // H_K)):
        dq_row = (b * H + h) * S_PADDED
        if CAUSAL:
            dk, dv, taken, row_before = scan_queries_past_keys(
                dk, dv, k, v, tiles, exchange, dq_tile, dq_desc, barriers, scale, dq_row, columns,
                S_k - S_q, S_k, taken, first, whole, row_before, True, RAGGED, D, STAGES, CONSUMER, REGISTERS,
            )  # fmt: skip
        dk, dv, taken, row_before = scan_queries_past_keys(
            dk, dv, k, v, tiles, exchange, dq_tile, dq_desc, barriers, scale, dq_row, columns,
            S_k - S_q, S_k, taken, gl.maximum(first, whole), last, row_before, False, RAGGED, D,
            STAGES, CONSUMER, REGISTERS,
        )  # fmt: skip
    mbarrier.wait(exchanged.index(taken % 3), taken // 3 & 1)
    dq = part_of_dq(k_tiles, exchange, taken % 3, 0, D, CONSUMER)
    dq = warpgroup_mma_wait(0, deps=[dq])
    add_to_dq(dq_desc, dq_tile, dq, row_before, D, CONSUMER)
    # V of this consumer is done with: its buffer takes dV, and then dK
    box = v_tiles.index(CONSUMER)
    out = box.reshape([KEYS, D])
    out.store(dv.to(v.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dv_desc, [b, h_k, first_column, 0], box)
    tma.store_wait(0)
    out.store((dk * alpha).to(v.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(dk_desc, [b, h_k, first_column, 0], box)
    tma.store_wait(0)


@gluon.jit
def ring(SLOTS: gl.constexpr, ARRIVALS: gl.constexpr):
    # SLOTS barriers, each of which completes a phase when ARRIVALS arrivals have come, and their bytes
    barriers = gl.allocate_shared_memory(gl.int64, [SLOTS, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(SLOTS):
        mbarrier.init(barriers.index(slot), count=ARRIVALS)
    return barriers


@gluon.jit(do_not_specialize=["GROUP", "TILES", "S_PADDED"])
def fa3_backward_kernel(
    q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc, dq_desc, dk_desc, dv_desc, alpha, scale,
    H, H_K, S_q, S_k, S_PADDED, GROUP, TILES,
    CAUSAL: gl.constexpr, RAGGED: gl.constexpr, STAGES: gl.constexpr, REGISTERS: gl.constexpr,
):  # fmt: skip
    D: gl.constexpr = q_desc.block_type.shape[3]
    k_tiles = gl.allocate_shared_memory(k_desc.dtype, [2, 1, 1, KEYS, D], k_desc.layout)
    v_tiles = gl.allocate_shared_memory(v_desc.dtype, [2, 1, 1, KEYS, D], v_desc.layout)
    q_ring = gl.allocate_shared_memory(q_desc.dtype, [STAGES, 1, 1, BLOCK_Q, D], q_desc.layout)
    do_ring = gl.allocate_shared_memory(do_desc.dtype, [STAGES, 1, 1, BLOCK_Q, D], do_desc.layout)
    lse_ring = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK_Q], lse_desc.layout)
    delta_ring = gl.allocate_shared_memory(gl.float32, [STAGES, BLOCK_Q], delta_desc.layout)
    dst: gl.constexpr = gl.NVMMASharedLayout.get_default_for([KEYS, BLOCK_Q], q_desc.dtype)
    exchange = gl.allocate_shared_memory(q_desc.dtype, [3 * 2, KEYS, BLOCK_Q], dst)
    dq_tiles = gl.allocate_shared_memory(gl.float32, [2, D // 8, 256], dq_desc.layout)
    kv_full, full, empty = ring(1, 1), ring(STAGES, 1), ring(STAGES, 2)
    exchanged = ring(3, 2)  # both consumers have written their dSᵀ
    tiles = (k_tiles, v_tiles, q_ring, do_ring, lse_ring, delta_ring)
    barriers = (kv_full, full, empty, exchanged)
    sizes = (H, H_K, S_q, S_k, S_PADDED, GROUP, TILES)
    inputs = (q_desc, k_desc, v_desc, do_desc, lse_desc, delta_desc)
    outputs = (dq_desc, dk_desc, dv_desc)
    gl.warp_specialize(  # registers: 2 · 128 · 240 + 128 · 24 of 65536
        [
            (multiply, (outputs, tiles, exchange, dq_tiles, barriers, alpha, scale, sizes,
                        CAUSAL, RAGGED, D, STAGES, 0, REGISTERS)),
            (multiply, (outputs, tiles, exchange, dq_tiles, barriers, alpha, scale, sizes,
                        CAUSAL, RAGGED, D, STAGES, 1, REGISTERS)),
            (load, (inputs, tiles, barriers, sizes, CAUSAL, STAGES)),
        ],
        [4, 1], [240, 24],
    )  # fmt: skip


@triton.jit
def finish_dq_kernel(sum_ptr, dq_ptr, alpha, S_q, S_PADDED, D: tl.constexpr):
    # dQ = alpha · the sum over keys, in the inputs' dtype; programs own 64 rows of one head, whose sum lies
    # as the threads of the consumers held it (`add_to_dq`)
    tiles = S_PADDED // 64
    bh = (tl.program_id(0) // tiles).to(tl.int64)
    first = tl.program_id(0) % tiles * 64
    EIGHTS: tl.constexpr = D // 2 // 8  # of columns, of each consumer
    held = tl.load(sum_ptr + (bh * S_PADDED + first) * D + tl.arange(0, 64 * D))
    # consumer, eight of columns, warp, row of eight, pair, upper or lower row, column of the pair
    held = tl.reshape(held * alpha, (2, EIGHTS, 4, 8, 4, 2, 2)).to(dq_ptr.dtype.element_ty)
    dq = tl.reshape(tl.permute(held, (2, 5, 3, 0, 1, 4, 6)), (64, D))
    rows = first + tl.arange(0, 64)
    at = (bh * S_q + rows)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(dq_ptr + at, dq, mask=(rows < S_q)[:, None])


def flat(t: Tensor) -> TensorDescriptor:
    """t, dense, as one row of fp32 numbers in blocks of 64, as they lie."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=1)
    return TensorDescriptor(t, [t.numel()], [1], [64], layout)


def runs_of(sums: Tensor, runs: int) -> TensorDescriptor:
    """The dense fp32 sums in blocks of `runs` runs of 256 numbers, as they lie."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=2)
    return TensorDescriptor(sums, [sums.numel() // 256, 256], [256, 1], [runs, 256], layout)


def fa3_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool = False,
    alpha: float | None = None,
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
    padded = triton.cdiv(S_q, PADDED) * PADDED
    lse = lse.contiguous()
    delta, lse2 = torch.empty((2, B * H, padded), dtype=torch.float32, device=q.device)
    dq_sum = torch.zeros((B * H * padded, D), dtype=torch.float32, device=q.device)
    dq, dk, dv = like(q, q.shape), like(k, k.shape), like(v, v.shape)

    def calls() -> list[Call]:
        tiles = triton.cdiv(S_k, 128)
        group = heads_together(B * H_k, tiles, 2 * D * q.element_size() * S_q * H // H_k, causal)
        arguments = (
            *(rows_of_heads(t, 64) for t in (q, k, v, do)), flat(lse2), flat(delta),
            runs_of(dq_sum, D // 8), rows_of_heads(dk, 64), rows_of_heads(dv, 64),
            alpha, alpha * LOG2_E, H, H_k, S_q, S_k, padded, group, tiles,
        )  # fmt: skip
        constants = {"CAUSAL": causal, "RAGGED": S_k % 128 != 0, "STAGES": 2, "REGISTERS": D == 64}
        return [
            delta_call(o, do, lse, delta, lse2),
            Call(fa3_backward_kernel, (tiles * B * H_k,), arguments, constants, {"num_warps": 4}),
            Call(
                finish_dq_kernel, (padded // 64 * B * H,), (dq_sum, dq, alpha, S_q, padded),
                {"D": D},
            ),
        ]  # fmt: skip

    strides = (q.stride(), k.stride(), v.stride(), o.stride(), do.stride())
    key = ("fa3 backward", causal, alpha, q.dtype, q.device, q.shape, k.shape, *strides)
    launch(key, (q, k, v, o, do, lse, delta, lse2, dq_sum, dq, dk, dv), calls)
    return dq, dk, dv
