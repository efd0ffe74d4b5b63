# label: wrong
# title: coordinates of b exchanged
# says: in fetch, b's tile is asked for at `[first_column, k]`: b is [K, N], so its coordinates are [k,
#   first_column].
# names: b's coordinates exchanged
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
    tma.async_copy_global_to_shared(b_desc, [k, first_column], full, b_tile, pred=pred)
# --- with
    tma.async_copy_global_to_shared(b_desc, [first_column, k], full, b_tile, pred=pred)
