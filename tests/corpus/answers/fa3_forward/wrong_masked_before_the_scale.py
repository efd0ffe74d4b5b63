# label: wrong
# title: masked before the scale
# says: in softmax_step hidden scores become -inf before `s = s * scale`: with a negative alpha they turn into
#   +inf (and with 0 into NaN).
# names: mask before alpha
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
    s = gl.where(columns[None, :] <= last_seen[:, None], s * scale, -float("inf"))
# --- with
    s = gl.where(columns[None, :] <= last_seen[:, None], s, -float("inf"))
    s = s * scale
