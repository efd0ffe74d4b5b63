# label: wrong
# title: acc not rescaled
# says: `acc = acc * rescale` is missing in the loop: what was summed under an older maximum keeps its old
#   unit.
# names: acc not rescaled
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
        acc = acc * gl.convert_layout(rescale, gl.SliceLayout(1, output))[:, None]
# --- with
