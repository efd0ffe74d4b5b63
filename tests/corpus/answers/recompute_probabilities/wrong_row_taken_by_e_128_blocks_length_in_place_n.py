# label: wrong
# title: flat, row = e // BLOCK
# says: The row is taken by e // 128, the block's length, in place of N.
# names: out_of_bounds
# base: right_a_flat_grid_over_all_elements_powers_of_two

# --- replace
    row, col = e // N, e % N
# --- with
    row, col = e // BLOCK, e % BLOCK
