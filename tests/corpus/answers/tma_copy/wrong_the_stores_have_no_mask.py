# label: wrong
# title: The stores have no mask.
# says: The stores have no mask.
# names: out_of_bounds
# base: right_two_arrivals_ordinary_stores_at_the_end

# --- replace
    gl.store(dst + i[:, None] * stride + j[None, :], v, mask=(i < M)[:, None] & (j < N)[None, :])
# --- with
    gl.store(dst + i[:, None] * stride + j[None, :], v)
