# label: wrong
# title: Each query sees one key too many.
# says: Each query sees one key too many.
# names: one key too many
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
        last = tl.minimum(rows + N - M, N - 1)
# --- with
        last = tl.minimum(rows + 1 + N - M, N - 1)
