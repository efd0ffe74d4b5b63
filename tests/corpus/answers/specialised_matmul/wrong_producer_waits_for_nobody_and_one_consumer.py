# label: wrong
# title: producer waits for nobody and one consumer
# says: two: mbarrier.wait(empty.index(at), phase) without ^ 1 waits for a phase that cannot be over before
#   the first round; and empty counts one arrival, so one consumer frees the slot for both
# names: deadlock; one consumer is enough
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
        # nobody has used the slot at first: the phase before the first one counts as over, so this passes
        mbarrier.wait(empty.index(at), phase ^ 1)
# --- with
        mbarrier.wait(empty.index(at), phase)

# --- replace
        # the product before this one is done: its slot is free (before the first step there is none)
# --- with

# --- replace
    fence_async_shared()  # the copy engine sees what ordinary stores wrote
# --- with
    fence_async_shared()

# --- replace
        mbarrier.init(full.index(slot), count=1)  # the producer's expectation
        mbarrier.init(empty.index(slot), count=2)  # both consumers
    steps = gl.cdiv(K, BLOCK_K)
    # the first partition runs in the program's own four warps, the others in warps of their own;
    # registers per thread: 240 and 24 for the two others, what is left (240) for the first
# --- with
        mbarrier.init(full.index(slot), count=1)
        mbarrier.init(empty.index(slot), count=1)
    steps = gl.cdiv(K, BLOCK_K)
