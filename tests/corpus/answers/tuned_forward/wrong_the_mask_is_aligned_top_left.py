# label: wrong
# title: The mask is aligned top-left.
# says: The mask is aligned top-left.
# names: top-left alignment
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
        last = tl.minimum(rows + N - M, N - 1)
# --- with
        last = tl.minimum(rows, N - 1)
