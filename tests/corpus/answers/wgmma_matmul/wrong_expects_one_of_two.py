# label: wrong
# title: expects one of two
# says: line mbarrier.expect(full, a_desc.block_type.nbytes): the barrier expects the bytes of a only,
#   although both copies report to it
# names: the bytes of one tile

from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from flashlearn.kernels.gluon.parts import accumulator, complying_rows, refuse_product, tiles_of


@gluon.jit
def fetch(a_desc, b_desc, first_row, first_column, k, a_tile, b_tile, full, pred):
    mbarrier.expect(full, a_desc.block_type.nbytes, pred=pred)
    tma.async_copy_global_to_shared(a_desc, [first_row, k], full, a_tile, pred=pred)
    tma.async_copy_global_to_shared(b_desc, [k, first_column], full, b_tile, pred=pred)


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
    for i in gl.static_range(STAGES - 2):
        fetch(a_desc, b_desc, m, n, i * BLOCK_K, a.index(i), b.index(i), full.index(i), i < steps)
    acc = gl.zeros([BLOCK_M, BLOCK_N], gl.float32, layout=accumulator(BLOCK_N, num_warps))
    for i in range(steps):
        ahead = i + STAGES - 2
        here, gap, k = i % STAGES, ahead % STAGES, ahead * BLOCK_K
        fetch(a_desc, b_desc, m, n, k, a.index(gap), b.index(gap), full.index(gap), ahead < steps)
        mbarrier.wait(full.index(here), i // STAGES % 2)
        acc = warpgroup_mma(a.index(here), b.index(here), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])
    acc = warpgroup_mma_wait(0, deps=[acc])
    for each in gl.static_range(STAGES):
        mbarrier.invalidate(full.index(each))
    c = gl.allocate_shared_memory(c_desc.dtype, [BLOCK_M, BLOCK_N], c_desc.layout)
    c.store(acc.to(c_desc.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c_desc, [m, n], c)
    tma.store_wait(0)


# INCLUDE: _wgmma_matmul
