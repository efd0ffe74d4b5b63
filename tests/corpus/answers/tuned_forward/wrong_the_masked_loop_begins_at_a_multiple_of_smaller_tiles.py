# label: wrong
# title: The masked loop begins at a multiple of smaller tiles.
# says: The masked loop begins at a multiple of 8 keys, and the loop before it ends at one of 16: it must begin there.
# names: never read
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    whole = seen // BN * BN
# --- with
    whole, edge = seen // BN * BN, seen // 8 * 8
# --- replace
    for j0 in range(whole, end, BN):
# --- with
    for j0 in range(edge, end, BN):
