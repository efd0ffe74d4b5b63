# label: wrong
# title: promise stored and no fence
# says: two faults behind the loop: the result of `warpgroup_mma_wait(0, deps=[acc])` is not assigned, so
#   c.store takes the promise, and fence_async_shared is missing between c.store and the copy out.
# names: the sum is used too early
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
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

# --- replace
    acc = warpgroup_mma_wait(0, deps=[acc])
# --- with
    warpgroup_mma_wait(0, deps=[acc])

# --- replace
    fence_async_shared()  # the copy engine sees what ordinary stores wrote
# --- with
