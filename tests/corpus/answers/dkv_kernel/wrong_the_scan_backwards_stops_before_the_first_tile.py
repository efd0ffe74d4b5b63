# label: wrong
# title: while i0 > first
# says: The scan backwards stops before the first tile.
# names: first tile missing
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
    while i0 + BQ > first and i0 >= 0:
# --- with
    while i0 > first and i0 >= 0:
