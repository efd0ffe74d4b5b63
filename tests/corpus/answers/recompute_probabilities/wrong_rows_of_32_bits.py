# label: wrong
# title: the rows' numbers have 32 bits
# says: A row times its stride may pass 2³¹ and wraps around.
# names: 32-bit offset
# base: _course_solution_without_markers

# --- replace
from torch import Tensor


@triton.jit
# --- with
@triton.jit

# --- replace
    # a tile of P from a tile of S and BLOCK_M numbers: no program sees a whole row
    i = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M] rows
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N] columns
# --- with
    i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)

# --- replace
    shift = tl.where(lse == -float("inf"), 0.0, lse)  # an empty row: exp(−inf − 0) = 0, not exp(−inf + inf)
    p = tl.exp(s - shift[:, None])  # at most 1, and no sum: the row's is in lse already
# --- with
    shift = tl.where(lse == -float("inf"), 0.0, lse)
    p = tl.exp(s - shift[:, None])

# --- replace
    """p = exp(s − lse): [M, N] and [M] (fp32), any strides → [M, N] contiguous, in the dtype of s."""
# --- with
