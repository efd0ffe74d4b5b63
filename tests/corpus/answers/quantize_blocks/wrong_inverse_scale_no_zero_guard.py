# label: wrong
# title: inverse scale no zero guard
# says: two: stores 448 / largest, the inverse of the scale, and has no guard: a block of zeros computes 0 ·
#   inf = NaN.
# names: the inverse scale is returned + a block of zeros divides by zero
# base: wrong_inverse_scale_and_scales_by_columns

# --- replace
    largest = tl.max(tl.abs(x))
    scale = tl.where(largest > 0.0, 448.0 / largest, 1.0)
    q = tl.clamp(x * scale, -448.0, 448.0)
    tl.store(values_ptr + rows[:, None] * N + columns[None, :], q.to(tl.float8e4nv), mask=inside)
    tl.store(scales_ptr + i + j * tl.num_programs(0), scale)
# --- with
    amax = tl.max(tl.max(tl.abs(x), axis=1), axis=0)
    scale = 448.0 / amax
    y = tl.clamp(x * scale, -448.0, 448.0)
    tl.store(values_ptr + rows[:, None] * N + columns[None, :], y.to(tl.float8e4nv), mask=inside)
    tl.store(scales_ptr + i * tl.num_programs(1) + j, scale)
