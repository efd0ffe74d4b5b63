# label: wrong
# title: l is not rescaled.
# says: l is not rescaled.
# names: l not rescaled
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    l = l * f + tl.sum(p, 1)
# --- with
    l = l + tl.sum(p, 1)
