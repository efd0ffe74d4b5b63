# label: wrong
# title: slot given back too early
# says: line mbarrier.arrive(empty.index(at)): behind wait(1) the newest product still runs and reads this
#   very slot, free is the one before
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
        # nobody has used the slot at first: the phase before the first one counts as over, so this passes
# --- with

# --- replace
        # the product before this one is done: its slot is free (before the first step there is none)
        mbarrier.arrive(empty.index((i + STAGES - 1) % STAGES), count=1, pred=i > 0)
# --- with
        mbarrier.arrive(empty.index(at), count=1)

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
        mbarrier.init(empty.index(slot), count=2)
    steps = gl.cdiv(K, BLOCK_K)
