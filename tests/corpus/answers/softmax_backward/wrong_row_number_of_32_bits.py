# label: wrong
# title: the row's number has 32 bits
# says: The row times its stride may pass 2³¹ and wraps around.
# names: 32-bit offset
# base: wrong_dp_strides_of_p

# --- replace
from torch import Tensor


@triton.jit
# --- with
@triton.jit

# --- replace
    # reads 2 N, writes N elements; p and dp may be laid out differently
    i = tl.program_id(0).to(tl.int64)
# --- with
    i = tl.program_id(0)

# --- replace
    # padding holds p = 0 and dp = 0, which adds nothing to the inner product
# --- with


# --- replace
    dp = tl.load(dp_ptr + i * p_row + j * p_col, mask=in_row, other=0.0).to(tl.float32)
    inner = tl.sum(p * dp, axis=0)  # E_p[dp]: one number for the row
# --- with
    dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=in_row, other=0.0).to(tl.float32)
    inner = tl.sum(p * dp, axis=0)

# --- replace
    """ds = p ∘ (dp − ⟨p, dp⟩) row by row: [M, N] of any strides → [M, N] contiguous, in p's dtype."""
# --- with
