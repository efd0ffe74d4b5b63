# label: wrong
# title: unseen: from right to left without a guard
# says: While a row has seen nothing its maximum is -inf, and -inf minus -inf is NaN; the guard is missing.
# names: inf minus inf
# base: right_tiles_keys_from_right_left_heads_first_in_grid

# --- replace
        origin = tl.where(better == float("-inf"), 0.0, better)
# --- with
        origin = better
