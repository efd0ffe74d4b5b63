# label: wrong
# title: loop starts at BLOCK
# says: The loop starts at the second block.
# names: first tile missing
# base: right_eight_columns_at_a_time_lanes_added_up_at_the_end

# --- replace
    for start in range(0, n_cols, BLOCK):
# --- with
    for start in range(BLOCK, n_cols, BLOCK):
