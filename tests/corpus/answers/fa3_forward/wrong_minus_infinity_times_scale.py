# label: wrong
# title: minus infinity times scale
# says: `gl.where(seen, s, -inf) * scale` masks before it scales: with a negative alpha the hidden keys get
#   +inf
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
    seen = columns[None, :] <= last_seen[:, None]
    s = gl.where(seen, s, -float("inf")) * scale
