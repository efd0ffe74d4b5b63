# label: wrong
# title: tiles of a by consumer first
# says: the consumer reads `a.index(CONSUMER * STAGES + at)`, as if a held all slots of one consumer before
#   those of the other; the producer fills 2 * slot + consumer.
# names: never written
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
        acc = warpgroup_mma(a.index(at * 2 + CONSUMER), b.index(at), acc, is_async=True)
# --- with
        acc = warpgroup_mma(a.index(CONSUMER * STAGES + at), b.index(at), acc, is_async=True)
