# label: wrong
# title: 3-D grid, components masked only
# says: The rows beyond S belong to the next head, or to nobody: they are loaded without a mask.
# names: no mask in s; out_of_bounds
# base: right_a_three_dimensional_grid

# --- replace
    mask = mask_m[:, None] & (off_d[None, :] < D_HEAD)
# --- with
    mask = off_d[None, :] < D_HEAD
