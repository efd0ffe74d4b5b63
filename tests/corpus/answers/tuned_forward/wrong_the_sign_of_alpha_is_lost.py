# label: wrong
# title: The sign of alpha is lost.
# says: The sign of alpha is lost.
# names: alpha's sign is lost
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    q = tl.where(alpha < 0, -q, q)
# --- with
