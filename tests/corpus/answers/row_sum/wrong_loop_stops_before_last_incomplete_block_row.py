# label: wrong
# title: loop over n_cols // BLOCK blocks
# says: The loop stops before the last, incomplete block of a row.
# names: last tile missing; one edit
# base: right_eight_columns_at_a_time_lanes_added_up_at_the_end

# --- replace
    for start in range(0, n_cols, BLOCK):
# --- with
    for start in range(0, n_cols // BLOCK * BLOCK, BLOCK):
