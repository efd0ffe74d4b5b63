# label: wrong
# title: The last ragged tile of keys is never visited where there is no causal mask.
# says: The last ragged tile of keys is never visited where there is no causal mask.
# names: last tile missing; loop ends one tile early
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    for j0 in range(whole, end, BN):
# --- with
    for j0 in range(whole, end // BN * BN if not CAUSAL else end, BN):
