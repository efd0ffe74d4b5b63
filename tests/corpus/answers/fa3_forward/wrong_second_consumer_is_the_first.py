# label: wrong
# title: second consumer is the first
# says: the second entry of gl.warp_specialize is a copy of the first, with CONSUMER 0: queries 64 to 127 of
#   each program are never computed, and the first 64 twice.
# names: overwritten
# base: _course_solution_without_markers

# --- replace
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from flashlearn.kernels.described import complying, like
from flashlearn.kernels.gluon.parts import accumulator, operand_a, refuse_unknown, rows_of_heads
# --- with
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait
from flashlearn.kernels.gluon.parts import accumulator
from flashlearn.kernels.described import complying, like
from flashlearn.kernels.gluon.parts import operand_a, refuse_unknown, rows_of_heads

# --- replace
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits

ROWS = gl.constexpr(64)
# --- with
from flashlearn.kernels.tuned_forward import LOG2_E, refuse_misfits


ROWS = gl.constexpr(64)  # queries of a consumer

# --- replace
            (attend, (o_desc, lse_ptr, tiles, barriers, scale, sizes, CAUSAL, BLOCK_K, STAGES, 1)),
# --- with
            (attend, (o_desc, lse_ptr, tiles, barriers, scale, sizes, CAUSAL, BLOCK_K, STAGES, 0)),
