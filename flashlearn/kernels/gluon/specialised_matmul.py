"""A matrix product by specialists: one warp only loads, two warpgroups only multiply.

    >>> c = specialised_matmul(a, b)                 # a [M, K] and b [K, N] in fp16 or bf16, c like a

Producer and consumers share a ring of slots and two barriers per slot. `full`: the bytes have arrived, the
consumers may read. `empty`: both consumers have read, the producer may load. The producer needs few
registers and gives its share to the consumers. Source: FlashAttention-3 (Shah et al., 2024, section 3.1);
CUTLASS calls it a warp-specialised pipeline.
"""

from __future__ import annotations

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

from flashlearn.kernels.gluon.parts import accumulator, complying_rows, refuse_product, tiles_of

__all__ = ["specialised_matmul", "specialised_matmul_kernel"]


@gluon.jit
def produce(a_desc, b_desc, a, b, full, empty, steps, STAGES: gl.constexpr):
    HALF: gl.constexpr = a_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    BLOCK_N: gl.constexpr = b_desc.block_type.shape[1]
    m, n = gl.program_id(0) * 2 * HALF, gl.program_id(1) * BLOCK_N
    for i in range(steps):
        ### BEGIN SOLUTION
        # STUB: gl.static_assert(False, "TODO specialised_matmul: wait until the slot is empty, fill it")
        at, phase = i % STAGES, i // STAGES % 2
        # nobody has used the slot at first: the phase before the first one counts as over, so this passes
        mbarrier.wait(empty.index(at), phase ^ 1)
        mbarrier.expect(full.index(at), 2 * a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        for c in gl.static_range(2):
            tma.async_copy_global_to_shared(
                a_desc, [m + c * HALF, i * BLOCK_K], full.index(at), a.index(at * 2 + c)
            )
        tma.async_copy_global_to_shared(b_desc, [i * BLOCK_K, n], full.index(at), b.index(at))
        ### END SOLUTION


@gluon.jit
def consume(c_desc, a, b, out, full, empty, steps, STAGES: gl.constexpr, CONSUMER: gl.constexpr):
    HALF: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    acc = gl.zeros([HALF, BLOCK_N], gl.float32, layout=accumulator(BLOCK_N))
    for i in range(steps):
        ### BEGIN SOLUTION
        # STUB: gl.static_assert(False, "TODO specialised_matmul: wait, multiply, give the slot back")
        at = i % STAGES
        mbarrier.wait(full.index(at), i // STAGES % 2)
        acc = warpgroup_mma(a.index(at * 2 + CONSUMER), b.index(at), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])
        # the product before this one is done: its slot is free (before the first step there is none)
        mbarrier.arrive(empty.index((i + STAGES - 1) % STAGES), count=1, pred=i > 0)
    acc = warpgroup_mma_wait(0, deps=[acc])
    ### END SOLUTION
    tile = out.index(CONSUMER)
    tile.store(acc.to(c_desc.dtype))
    fence_async_shared()  # the copy engine sees what ordinary stores wrote
    m = (gl.program_id(0) * 2 + CONSUMER) * HALF
    tma.async_copy_shared_to_global(c_desc, [m, gl.program_id(1) * BLOCK_N], tile)
    tma.store_wait(0)


@gluon.jit
def specialised_matmul_kernel(a_desc, b_desc, c_desc, K, STAGES: gl.constexpr):
    HALF: gl.constexpr = a_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    BLOCK_N: gl.constexpr = b_desc.block_type.shape[1]
    a = gl.allocate_shared_memory(a_desc.dtype, [2 * STAGES, HALF, BLOCK_K], a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BLOCK_K, BLOCK_N], b_desc.layout)
    out = gl.allocate_shared_memory(c_desc.dtype, [2, HALF, BLOCK_N], c_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for slot in gl.static_range(STAGES):
        ### BEGIN SOLUTION
        # STUB: gl.static_assert(False, "TODO specialised_matmul: count the arrivals of a phase of each")
        mbarrier.init(full.index(slot), count=1)  # the producer's expectation
        mbarrier.init(empty.index(slot), count=2)  # both consumers
        ### END SOLUTION
    steps = gl.cdiv(K, BLOCK_K)
    # the first partition runs in the program's own four warps, the others in warps of their own;
    # registers per thread: 240 and 24 for the two others, what is left for the first
    gl.warp_specialize(
        [
            (consume, (c_desc, a, b, out, full, empty, steps, STAGES, 0)),
            (consume, (c_desc, a, b, out, full, empty, steps, STAGES, 1)),
            (produce, (a_desc, b_desc, a, b, full, empty, steps, STAGES)),
        ],
        [4, 1],
        [240, 24],
    )


def specialised_matmul(
    a: Tensor, b: Tensor, block: tuple[int, int, int] = (128, 256, 64), stages: int = 3
) -> Tensor:
    """a [M, K] times b [K, N] in fp16 or bf16, summed in fp32; `block` is (M, N, K), half of M per consumer.

    Raises TypeError or ValueError for what does not go together.
    """
    refuse_product(a, b)
    a, b = complying_rows(a), complying_rows(b)
    (M, K), N = a.shape, b.shape[1]
    c = complying_rows(torch.empty((M, N), dtype=a.dtype, device=a.device))
    block_m, block_n, block_k = block
    half = block_m // 2
    specialised_matmul_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, block_n))](
        tiles_of(a, [half, block_k]), tiles_of(b, [block_k, block_n]), tiles_of(c, [half, block_n]), K,
        STAGES=stages, num_warps=4,
    )  # fmt: skip
    return c
