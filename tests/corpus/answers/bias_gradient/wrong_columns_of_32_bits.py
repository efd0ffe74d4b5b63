# label: wrong
# title: the columns' numbers have 32 bits
# says: A column times its stride may pass 2³¹ and wraps around in a transposed view.
# names: 32-bit offset
# base: wrong_fp16_partial

# --- replace
from torch import Tensor


@triton.jit
# --- with
@triton.jit

# --- replace
    # reads M·N, writes N elements; dy[i, j] lies at dy_ptr + i * dy_row + j * dy_col
    # tl.int64: j · dy_col may pass 2³¹, which 32 bits cannot hold
    j = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)  # [BLOCK_N] columns owned
# --- with
    j = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)

# --- replace
        i = (start + tl.arange(0, BLOCK_M)).to(tl.int64)  # [BLOCK_M] rows; the last tile may be short
# --- with
        i = (start + tl.arange(0, BLOCK_M)).to(tl.int64)

# --- replace
        # padding is 0, which adds nothing to a sum
# --- with


# --- replace
        db = (db + tl.sum(dy.to(tl.float32), axis=0)).to(dy.dtype).to(tl.float32)  # [BLOCK_M, BLOCK_N] → [BLOCK_N]
# --- with
        db += tl.sum(dy.to(tl.float32), axis=0)

# --- replace
    """db_j = Σ_i dy_ij: [M, N] of any strides → [N], in the dtype of dy, summed in fp32."""
# --- with


# --- replace
    grid = (triton.cdiv(N, BLOCK_N),)  # programs share out the columns, not the rows
# --- with
    grid = (triton.cdiv(N, BLOCK_N),)
