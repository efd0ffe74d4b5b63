# label: wrong
# title: A factor of 0 meets −∞ where alpha is 0.
# says: A factor of 0 meets −∞ where alpha is 0.
# names: zero times inf; one edit; not finite; rows that see nothing are NaN
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    c = tl.maximum(tl.abs(alpha) * 1.4426950408889634, 1e-30)
# --- with
    c = tl.abs(alpha) * 1.4426950408889634
