# label: wrong
# title: 3-D grid, sums multiplied
# says: A sum of products was taken apart into a product of sums.
# names: a sum of products taken apart
# base: right_a_three_dimensional_grid

# --- replace
    tl.store(Delta + (off_b * H + off_h) * N_CTX + off_m, tl.sum(o * do, axis=1), mask=mask_m)
# --- with
    tl.store(Delta + (off_b * H + off_h) * N_CTX + off_m, tl.sum(o, axis=1) * tl.sum(do, axis=1), mask=mask_m)
