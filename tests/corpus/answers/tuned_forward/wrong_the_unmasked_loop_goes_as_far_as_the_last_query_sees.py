# label: wrong
# title: The unmasked loop goes as far as the last query sees.
# says: The unmasked loop goes as far as the last query sees.
# names: no mask on the diagonal
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    whole = seen // BN * BN
# --- with
    whole = end // BN * BN
