# label: wrong
# title: 3-D grid, queries masked only
# says: The mask in d is missing: from D on these are the next query's components.
# names: no mask in d; out_of_bounds
# base: right_a_three_dimensional_grid

# --- replace
    mask = mask_m[:, None] & (off_d[None, :] < D_HEAD)
# --- with
    mask = mask_m[:, None] & (off_d[None, :] >= 0)
