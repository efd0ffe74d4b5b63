# label: wrong
# title: divided by n_cols
# says: You stored the mean: the sum is divided by the number of columns.
# names: constant factor
# base: right_eight_columns_at_a_time_lanes_added_up_at_the_end

# --- replace
    tl.store(out_ptr + row, tl.sum(total))
# --- with
    tl.store(out_ptr + row, tl.sum(total) / n_cols)
