# label: wrong
# title: lse natural in a power of two
# says: `gl.exp2(s * (alpha * LOG2_E) - lse[None, :])` subtracts the natural LSE in base 2; it must be lse *
#   LOG2_E
# names: log2 e is missing from LSE
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
from flashlearn.kernels.gluon.parts import accumulator, tiles_of

# --- replace
from flashlearn.kernels.gluon.parts import accumulator, operand_a, refuse_unknown, rows_of_heads, tiles_of
# --- with
from flashlearn.kernels.gluon.parts import operand_a, refuse_unknown, rows_of_heads

# --- replace
from flashlearn.kernels.gluon.tma_add import async_add_shared_to_global

KEYS = gl.constexpr(64)
QUERIES = gl.constexpr(64)
# --- with
from flashlearn.kernels.gluon.tma_add import async_add_shared_to_global


KEYS = gl.constexpr(64)  # of a consumer
QUERIES = gl.constexpr(64)  # of a block

# --- replace
        p = gl.exp2(s * (alpha * LOG2_E) - (lse * LOG2_E)[None, :])
# --- with
        p = gl.exp2(s * (alpha * LOG2_E) - lse[None, :])
