# label: wrong
# title: rows, no mask for rows
# says: The rows beyond the last are loaded, and stored.
# names: out_of_bounds
# base: right_four_rows_per_program

# --- replace
    ok_m = offs_m < M
# --- with
    ok_m = offs_m >= 0
