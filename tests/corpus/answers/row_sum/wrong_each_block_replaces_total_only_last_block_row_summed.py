# label: wrong
# title: total = x instead of total += x
# says: Each block replaces the total: only the last block of the row is summed.
# names: only the last tile
# base: right_eight_columns_at_a_time_lanes_added_up_at_the_end

# --- replace
        total += x
# --- with
        total = x.to(tl.float32)
