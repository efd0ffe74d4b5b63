# label: wrong
# title: slot given back under its product
# says: `mbarrier.arrive(empty.index(slot), count=1)` behind warpgroup_mma_wait(1) gives back the slot of the
#   product that still runs; it should be the slot before
# names: given back while it is read

from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from flashlearn.kernels.gluon.parts import accumulator, complying_rows, refuse_product, tiles_of


@gluon.jit
def produce(a_desc, b_desc, a, b, full, empty, steps, STAGES: gl.constexpr):
    HALF: gl.constexpr = a_desc.block_type.shape[0]
    BLOCK_K: gl.constexpr = a_desc.block_type.shape[1]
    BLOCK_N: gl.constexpr = b_desc.block_type.shape[1]
    m, n = gl.program_id(0) * 2 * HALF, gl.program_id(1) * BLOCK_N
    for i in range(steps):
        slot = i % STAGES
        mbarrier.wait(empty.index(slot), (i // STAGES + 1) % 2)
        mbarrier.expect(full.index(slot), 2 * a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(a_desc, [m, i * BLOCK_K], full.index(slot), a.index(2 * slot))
        tma.async_copy_global_to_shared(a_desc, [m + HALF, i * BLOCK_K], full.index(slot), a.index(2 * slot + 1))
        tma.async_copy_global_to_shared(b_desc, [i * BLOCK_K, n], full.index(slot), b.index(slot))


@gluon.jit
def consume(c_desc, a, b, out, full, empty, steps, STAGES: gl.constexpr, CONSUMER: gl.constexpr):
    HALF: gl.constexpr = c_desc.block_type.shape[0]
    BLOCK_N: gl.constexpr = c_desc.block_type.shape[1]
    acc = gl.zeros([HALF, BLOCK_N], gl.float32, layout=accumulator(BLOCK_N))
    for i in range(steps):
        slot = i % STAGES
        mbarrier.wait(full.index(slot), (i // STAGES) % 2)
        acc = warpgroup_mma(a.index(2 * slot + CONSUMER), b.index(slot), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])
        mbarrier.arrive(empty.index(slot), count=1)
    acc = warpgroup_mma_wait(0, deps=[acc])
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
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=2)
    steps = gl.cdiv(K, BLOCK_K)
    # the first partition runs in the program's own four warps, the others in warps of their own;
    # registers per thread: 240 and 24 for the two others, what is left (240) for the first
    gl.warp_specialize(
        [
            (consume, (c_desc, a, b, out, full, empty, steps, STAGES, 0)),
            (consume, (c_desc, a, b, out, full, empty, steps, STAGES, 1)),
            (produce, (a_desc, b_desc, a, b, full, empty, steps, STAGES)),
        ],
        [4, 1],
        [240, 24],
    )


# INCLUDE: _specialised_matmul
