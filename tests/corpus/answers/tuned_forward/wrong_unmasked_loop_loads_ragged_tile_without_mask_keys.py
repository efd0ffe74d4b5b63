# label: wrong
# title: The unmasked loop loads the ragged tile without a mask of keys.
# says: The unmasked loop loads the ragged tile without a mask of keys.
# names: out_of_bounds; out_of_bounds + no mask on the diagonal
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    whole = seen // BN * BN
# --- with
    whole = (seen + BN - 1) // BN * BN
