# label: wrong
# title: one arrival for two consumers
# says: `mbarrier.init(empty..., count=1)`: two consumers arrive in each phase, so a slot counts as free when
#   the first has done with it.
# names: one consumer is enough
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
        mbarrier.init(empty.index(slot), count=2)  # both consumers
# --- with
        mbarrier.init(empty.index(slot), count=1)
