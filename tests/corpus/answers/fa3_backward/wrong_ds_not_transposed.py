# label: wrong
# title: ds not transposed
# says: the product for dQ takes `ds_tile` as it is (keys × queries, 64 × 64, so shapes check) instead of
#   `ds_tile.permute([1, 0])`.
# names: one edit
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
        dq = warpgroup_mma(ds_tile.permute([1, 0]), k, dq, use_acc=False, is_async=True)
# --- with
        dq = warpgroup_mma(ds_tile, k, dq, use_acc=False, is_async=True)
