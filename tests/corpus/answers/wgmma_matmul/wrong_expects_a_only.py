# label: wrong
# title: expects a only
# says: `mbarrier.expect(full, a_desc.block_type.nbytes)` counts the bytes of A alone, although both tiles
#   report to the barrier.
# names: the bytes of one tile
# base: _course_solution_without_markers

# --- replace
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
# --- with
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

# --- replace
    mbarrier.expect(full, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=pred)
# --- with
    mbarrier.expect(full, a_desc.block_type.nbytes, pred=pred)
