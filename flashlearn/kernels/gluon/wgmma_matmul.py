"""A matrix product with asynchronous tensor cores: while one WGMMA runs, TMA fills the next buffers.

    >>> c = wgmma_matmul(a, b)                       # a [M, K] and b [K, N] in fp16 or bf16, c like a

WGMMA reads its operands from shared memory by itself: four warps issue it together and go on. Two waits
keep it honest: the barrier before it (the tiles have arrived), and the wait for the WGMMA before its buffer
is filled again. Source: PTX ISA, section "Asynchronous warpgroup level matrix instructions".
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

__all__ = ["wgmma_matmul", "wgmma_matmul_kernel"]


@gluon.jit
def fetch(a_desc, b_desc, first_row, first_column, k, a_tile, b_tile, full, pred):
    # one step of K: both tiles report to one barrier, which expects the bytes of both
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO wgmma_matmul: expect the bytes, ask for both tiles")
    mbarrier.expect(full, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=pred)
    tma.async_copy_global_to_shared(a_desc, [first_row, k], full, a_tile, pred=pred)
    tma.async_copy_global_to_shared(b_desc, [k, first_column], full, b_tile, pred=pred)
    ### END SOLUTION


@gluon.jit
def wgmma_matmul_kernel(a_desc, b_desc, c_desc, K, STAGES: gl.constexpr, num_warps: gl.constexpr):
    BLOCK_M: gl.constexpr = a_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    BLOCK_N: gl.constexpr = b_desc.block_type.shape[1]
    m, n = gl.program_id(0) * BLOCK_M, gl.program_id(1) * BLOCK_N
    steps = gl.cdiv(K, BLOCK_K)
    a = gl.allocate_shared_memory(a_desc.dtype, [STAGES, BLOCK_M, BLOCK_K], a_desc.layout)
    b = gl.allocate_shared_memory(b_desc.dtype, [STAGES, BLOCK_K, BLOCK_N], b_desc.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for each in gl.static_range(STAGES):
        mbarrier.init(full.index(each), count=1)
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO wgmma_matmul: the first tiles are requested before the loop")
    for early in gl.static_range(STAGES - 2):  # the first steps: step 0 uses slot 0, step 1 slot 1, …
        fetch(
            a_desc, b_desc, m, n, early * BLOCK_K, a.index(early), b.index(early), full.index(early),
            early < steps,
        )  # fmt: skip
    ### END SOLUTION
    acc = gl.zeros([BLOCK_M, BLOCK_N], gl.float32, layout=accumulator(BLOCK_N, num_warps))
    for i in range(steps):
        ### BEGIN SOLUTION
        # STUB: gl.static_assert(False, "TODO wgmma_matmul: fetch ahead, wait for this step, multiply, wait")
        # the product of step i - 1 may still run and reads its slot; that of step i - 2 has been waited for
        ahead = i + STAGES - 2
        at, free, k = i % STAGES, ahead % STAGES, ahead * BLOCK_K
        fetch(a_desc, b_desc, m, n, k, a.index(free), b.index(free), full.index(free), ahead < steps)
        mbarrier.wait(full.index(at), i // STAGES % 2)
        acc = warpgroup_mma(a.index(at), b.index(at), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])  # all but the newest are done
    acc = warpgroup_mma_wait(0, deps=[acc])
    ### END SOLUTION
    for each in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(each))
    c = gl.allocate_shared_memory(c_desc.dtype, [BLOCK_M, BLOCK_N], c_desc.layout)
    ### BEGIN SOLUTION
    # STUB: gl.static_assert(False, "TODO wgmma_matmul: the result goes to c, and from there to memory")
    c.store(acc.to(c_desc.dtype))
    fence_async_shared()  # the copy engine sees what ordinary stores wrote
    tma.async_copy_shared_to_global(c_desc, [m, n], c)
    tma.store_wait(0)
    ### END SOLUTION


def wgmma_matmul(
    a: Tensor, b: Tensor, block: tuple[int, int, int] = (128, 128, 64), stages: int = 4
) -> Tensor:
    """a [M, K] times b [K, N] in fp16 or bf16, summed in fp32; `block` is (M, N, K), `stages` is 3 or more.

    Raises TypeError or ValueError for what does not go together.
    """
    refuse_product(a, b)
    a, b = complying_rows(a), complying_rows(b)
    (M, K), N = a.shape, b.shape[1]
    c = complying_rows(torch.empty((M, N), dtype=a.dtype, device=a.device))
    block_m, block_n, block_k = block
    wgmma_matmul_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, block_n))](
        tiles_of(a, [block_m, block_k]), tiles_of(b, [block_k, block_n]), tiles_of(c, [block_m, block_n]), K,
        STAGES=stages, num_warps=block_m // 16 if block_m < 128 else 8,  # a warp has 16 rows at a time
    )  # fmt: skip
    return c
