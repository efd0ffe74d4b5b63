# label: wrong
# title: w = tl.full((SPLITS,), 1.0, tl.float32)
# says: The shares of the splits are added as they are, not in units of the common maximum.
# names: nothing rescaled; not rescaled
# base: right_keys_split_over_two_programs_merged_by_second_kernel

# --- replace
    w = tl.exp(m - top)
# --- with
    w = tl.full((SPLITS,), 1.0, tl.float32)
