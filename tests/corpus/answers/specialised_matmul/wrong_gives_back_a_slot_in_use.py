# label: wrong
# title: gives back a slot in use
# says: the consumer arrives on `empty.index(at)` right after starting the asynchronous product (wait 1),
#   while this product still reads the slot.
# names: given back while it is read
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
        # the product before this one is done: its slot is free (before the first step there is none)
        mbarrier.arrive(empty.index((i + STAGES - 1) % STAGES), count=1, pred=i > 0)
# --- with
        mbarrier.arrive(empty.index(at), count=1)
