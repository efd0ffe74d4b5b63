# label: wrong
# title: rows and columns of 32 bits
# says: An index times a stride may pass 2³¹ and wraps around.
# names: 32-bit offset
# base: wrong_scales_by_columns_and_no_magnitude

# --- replace
from torch import Tensor


@triton.jit
# --- with
@triton.jit

# --- replace
    r = (i * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    c = (j * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    ok = (r < M)[:, None] & (c < N)[None, :]
    x = tl.load(x_ptr + r[:, None] * x_row + c[None, :] * x_col, mask=ok, other=0.0).to(tl.float32)
    top = tl.max(tl.max(x, axis=1), axis=0)
    s = tl.where(top > 0.0, top / 448.0, 1.0)
    y = tl.minimum(tl.maximum(x / s, -448.0), 448.0)
    tl.store(values_ptr + r[:, None] * N + c[None, :], y.to(tl.float8e4nv), mask=ok)
    tl.store(scales_ptr + j * tl.num_programs(0) + i, s)
# --- with
    rows = (i * BLOCK_M + tl.arange(0, BLOCK_M))
    columns = (j * BLOCK_N + tl.arange(0, BLOCK_N))
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    x_at = x_ptr + rows[:, None] * x_row + columns[None, :] * x_col
    x = tl.load(x_at, mask=inside, other=0.0).to(tl.float32)
    largest = tl.max(tl.abs(x))
    scale = tl.where(largest == 0.0, 1.0, largest / 448.0)
    values = tl.clamp(x / scale, -448.0, 448.0).to(tl.float8e4nv)
    tl.store(values_ptr + rows[:, None] * N + columns[None, :], values, mask=inside)
    tl.store(scales_ptr + i * tl.num_programs(1) + j, scale)
