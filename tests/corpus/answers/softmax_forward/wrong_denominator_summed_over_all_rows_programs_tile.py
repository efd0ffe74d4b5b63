# label: wrong
# title: tl.sum(num) of two rows
# says: The denominator is summed over all rows of the program's tile: it should be one for each row.
# names: rows do not sum to 1
# base: _together

# --- replace
    den = tl.sum(num, axis=1, keep_dims=True)
# --- with
    den = tl.sum(num)
