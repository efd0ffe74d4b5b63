# label: wrong
# title: for back in range(tiles - 1)
# says: The scan backwards stops before the first tile.
# names: first tile missing
# base: right_delta_inside_kernel_if_in_loop_instead_end_backwards

# --- replace
    for back in range(tiles):
# --- with
    for back in range(tiles - 1):
