# label: wrong
# title: fence in front of the store, anew
# says: `fence_async_shared()` stands before `c.store(...)`: what is written after it need not be visible to
#   the copy engine
# names: stored without a fence
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
    c.store(acc.to(c_desc.dtype))
    fence_async_shared()  # the copy engine sees what ordinary stores wrote
# --- with
    fence_async_shared()
    c.store(acc.to(c_desc.dtype))
