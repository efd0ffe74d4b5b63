# label: wrong
# title: two stages, slabs - 1
# says: The second kernel leaves out the last slab.
# names: the last, short tile left out; last tile missing
# base: right_transposed_tiles_two_kernels_partial_sums_in_between

# --- replace
    for k in range(slabs):
# --- with
    for k in range(slabs - 1):
