# label: wrong
# title: mask where < length - 1
# says: The last element is left out: the mask should be where < length.
# names: never written
# base: right_two_dimensional_tiles_a_fused_multiply_add

# --- replace
    valid = where < length
# --- with
    valid = where < length - 1
