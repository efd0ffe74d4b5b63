# label: wrong
# title: means of a dy taken for contiguous
# says: Two mistakes: the sums are divided by the number of rows, and dy is addressed as if it were
#   contiguous.
# names: mean instead of sum; out_of_bounds + mean instead of sum
# base: _partial

# --- replace
    vals = tl.load(dy_ptr + row * srow + col * scol, mask=(row < M) & (col < N), other=0.0)
# --- with
    vals = tl.load(dy_ptr + row * N + col, mask=(row < M) & (col < N), other=0.0)

# --- replace
    return parts.sum(0).to(dy.dtype)
# --- with
    return (parts.sum(0) / M).to(dy.dtype)
