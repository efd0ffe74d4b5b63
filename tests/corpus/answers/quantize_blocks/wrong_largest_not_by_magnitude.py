# label: wrong
# title: largest not by magnitude
# says: line largest = tl.max(x): the largest number, not the largest magnitude, so blocks of large negative
#   numbers are clipped or have a negative scale
# names: largest without its sign forgotten
# base: wrong_scales_by_columns_and_no_magnitude

# --- replace
    ok = (r < M)[:, None] & (c < N)[None, :]
    x = tl.load(x_ptr + r[:, None] * x_row + c[None, :] * x_col, mask=ok, other=0.0).to(tl.float32)
    top = tl.max(tl.max(x, axis=1), axis=0)
    s = tl.where(top > 0.0, top / 448.0, 1.0)
# --- with
    ok = (r[:, None] < M) & (c[None, :] < N)
    x = tl.load(x_ptr + r[:, None] * x_row + c[None, :] * x_col, mask=ok, other=0.0).to(tl.float32)
    largest = tl.max(x)
    s = tl.where(largest > 0.0, largest / 448.0, 1.0)

# --- replace
    tl.store(scales_ptr + j * tl.num_programs(0) + i, s)
# --- with
    tl.store(scales_ptr + i * tl.num_programs(1) + j, s)
