# label: wrong
# title: The masked loop begins a tile late.
# says: The masked loop begins a tile late.
# names: one edit
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    for j0 in range(whole, end, BN):
# --- with
    for j0 in range(whole + BN, end, BN):
