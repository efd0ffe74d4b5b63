"""FlashAttention-3's forward pass: a producer warp loads, consumer warpgroups of 64 queries each multiply.

    >>> q, k, v = (torch.randn(1, 8, 4096, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    >>> o, lse = fa3_forward(q, k, v, causal=True)          # o like q, lse [1, 8, 4096] in fp32

The softmax of one block of keys runs under two products: S of this block has been waited for, while O += P
V of the block before is still in the tensor cores. Programs are persistent: one per multiprocessor takes
tile after tile, so that the producer already loads for the next tile while the consumers finish this one.
Sources: FlashAttention-3 (Shah et al., 2024, sections 3.1 and 3.2), FlashAttention-2 (Dao, 2023) for the
arithmetic. Tensors are [B, H, S, D] in fp16 or bf16, D is 64 or 128; K and V may have fewer heads. Causal
masks are aligned bottom-right, and a query that sees no key gets O = 0 and LSE = −inf.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import triton
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

from flashlearn.kernels.compiled_launches import Call, launch
from flashlearn.kernels.described import complying, heads_together, like
from flashlearn.kernels.gluon.forward_partitions import load, multiply
from flashlearn.kernels.gluon.forward_tiles import ROWS
from flashlearn.kernels.gluon.parts import refuse_unknown, rows_of_heads
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

__all__ = ["Cut", "fa3_forward", "forward_cut"]


@gluon.jit(do_not_specialize=["GROUP", "TILES", "total"])
def fa3_forward_kernel(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, counter_ptr, scale, H, H_K, S_q, S_k, GROUP, TILES, total,
    CAUSAL: gl.constexpr, NEGATIVE: gl.constexpr, RAGGED: gl.constexpr, BLOCK_K: gl.constexpr,
    D: gl.constexpr,
    STAGES: gl.constexpr, CONSUMERS: gl.constexpr, PINGPONG: gl.constexpr,
):  # fmt: skip
    tile: gl.constexpr = gl.NVMMASharedLayout.get_default_for([ROWS, D], q_desc.dtype)
    block: gl.constexpr = gl.NVMMASharedLayout.get_default_for([BLOCK_K, D], q_desc.dtype)
    # Q of the next tile arrives while this one's is in use: each consumer has two places
    q_tiles = gl.allocate_shared_memory(q_desc.dtype, [2 * CONSUMERS, ROWS, D], tile)
    o_tiles = gl.allocate_shared_memory(o_desc.dtype, [CONSUMERS, ROWS, D], tile)
    k_ring = gl.allocate_shared_memory(k_desc.dtype, [STAGES, BLOCK_K, D], block)
    v_ring = gl.allocate_shared_memory(v_desc.dtype, [STAGES, BLOCK_K, D], block)
    q_full = gl.allocate_shared_memory(gl.int64, [2 * CONSUMERS, 1], mbarrier.MBarrierLayout())
    q_empty = gl.allocate_shared_memory(gl.int64, [2 * CONSUMERS, 1], mbarrier.MBarrierLayout())
    turns = gl.allocate_shared_memory(gl.int64, [CONSUMERS, 1], mbarrier.MBarrierLayout())
    for place in gl.static_range(2 * CONSUMERS):
        mbarrier.init(q_full.index(place), count=1)
        mbarrier.init(q_empty.index(place), count=1)
    for c in gl.static_range(CONSUMERS):
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
    # which tile is next: only the producer knows, and tells the consumers through shared memory
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
    work = (o_desc, lse_ptr, tiles, o_tiles, barriers, schedule, turns, scale, sizes)
    loaded = ((q_desc, k_desc, v_desc), counter_ptr, tiles, barriers, schedule, sizes)
    # the first partition runs in the program's own four warps; registers per thread are given for the others,
    # the first gets what is left
    if CONSUMERS == 2:  # 128 threads with 240 registers, twice, and 128 with 24: below 65536
        gl.warp_specialize(
            [
                (multiply, (work, CAUSAL, NEGATIVE, RAGGED, BLOCK_K, D, STAGES, CONSUMERS, 0, PINGPONG)),
                (multiply, (work, CAUSAL, NEGATIVE, RAGGED, BLOCK_K, D, STAGES, CONSUMERS, 1, PINGPONG)),
                (load, (loaded, CAUSAL, BLOCK_K, STAGES, CONSUMERS)),
            ],
            [4, 1],
            [240, 24],
        )
    else:  # 128 threads with 160 registers, three times, and 128 with 32: 65536
        gl.warp_specialize(
            [
                (multiply, (work, CAUSAL, NEGATIVE, RAGGED, BLOCK_K, D, STAGES, CONSUMERS, 0, False)),
                (multiply, (work, CAUSAL, NEGATIVE, RAGGED, BLOCK_K, D, STAGES, CONSUMERS, 1, False)),
                (multiply, (work, CAUSAL, NEGATIVE, RAGGED, BLOCK_K, D, STAGES, CONSUMERS, 2, False)),
                (load, (loaded, CAUSAL, BLOCK_K, STAGES, CONSUMERS)),
            ],
            [4, 4, 1],
            [160, 160, 32],
        )


_multiprocessors: dict[torch.device, int] = {}


@dataclass(frozen=True)
class Cut:
    """How the work is cut: consumer warpgroups of 64 queries, and whether two of them multiply by turns."""

    consumers: int = 2
    pingpong: bool = False
    block_k: int = 128
    stages: int = 2


def forward_cut(q: Tensor, k: Tensor, causal: bool) -> Cut:
    """Two that take turns where tiles are soon done, three consumers for long scans of short rows.

    Tried out on an H200 with S of 1024, 4096 and 16384.
    """
    S_k, D = k.shape[2:]
    if S_k < (8192 if causal and D == 64 else 2048):
        return Cut(pingpong=True)
    return Cut(consumers=3 if D == 64 else 2)


def multiprocessors(device: torch.device) -> int:
    """Of this GPU, asked once: asking takes as long as launching. A launch on a CPU has two programs."""
    if device not in _multiprocessors:
        on_gpu = device.type == "cuda"
        count = torch.cuda.get_device_properties(device).multi_processor_count if on_gpu else 2
        _multiprocessors[device] = count
    return _multiprocessors[device]


def fa3_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None, cut: Cut | None = None
) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] in q's dtype and LSE [B, H, S_q] in fp32; K and V are [B, H_k, S_k, D], H_k divides H.

    Any strides; `alpha` is 1/√D unless given, `cut` is `forward_cut(q, k, causal)`. D is 64 or 128, dtypes
    are fp16 and bf16. Raises TypeError or ValueError for what does not go together.
    """
    refuse_misfits(q, k, v)
    refuse_unknown(q)
    q, k, v = complying(q), complying(k), complying(v)
    B, H, S_q, D = q.shape
    H_k, S_k = k.shape[1:3]
    alpha = 1 / math.sqrt(D) if alpha is None else alpha
    cut = cut or forward_cut(q, k, causal)
    tiles = triton.cdiv(S_q, cut.consumers * ROWS.value)
    programs = min(tiles * B * H, multiprocessors(q.device))
    o = like(q, q.shape)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    # who fetches tiles by it begins at 0; else nobody reads it, and zeros would be one launch more
    fetched = causal and programs < tiles * B * H
    counter = (torch.zeros if fetched else torch.empty)(1, dtype=torch.int32, device=q.device)

    def calls() -> list[Call]:
        group = heads_together(B * H, tiles, 2 * S_k * D * k.element_size() * H_k // H, causal)
        rows, block = ROWS.value, cut.block_k
        arguments = (
            rows_of_heads(q, rows), rows_of_heads(k, block), rows_of_heads(v, block), rows_of_heads(o, rows),
            lse, counter, alpha * LOG2_E, H, H_k, S_q, S_k, group, tiles, tiles * B * H,
        )  # fmt: skip
        constants = {
            "CAUSAL": causal, "NEGATIVE": alpha < 0, "RAGGED": S_k % block != 0, "BLOCK_K": block, "D": D,
            "STAGES": cut.stages, "CONSUMERS": cut.consumers, "PINGPONG": cut.pingpong,
        }  # fmt: skip
        return [Call(fa3_forward_kernel, (programs,), arguments, constants, {"num_warps": 4})]

    strides = (q.stride(), k.stride(), v.stride())
    launch(
        ("fa3", causal, alpha, cut, q.dtype, q.device, q.shape, k.shape, *strides),
        (q, k, v, o, lse, counter),
        calls,
    )
    return o, lse
