# label: wrong
# title: tile without the rows' mask
# says: Rows beyond the last are loaded: the tile's mask looks at columns only.
# names: out_of_bounds
# base: right_four_rows_per_program_the_sum_in_a_helper

# --- replace
    ok = (r[:, None] < R) & (c[None, :] < C)
# --- with
    ok = (r[:, None] >= 0) & (c[None, :] < C)
