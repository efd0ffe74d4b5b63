# label: wrong
# title: Rows that see nothing become NaN.
# says: Rows that see nothing become NaN.
# names: rows that see nothing are NaN
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
        shift = tl.where(top == float("-inf"), 0.0, shift)
# --- with
        shift = shift + 0.0
