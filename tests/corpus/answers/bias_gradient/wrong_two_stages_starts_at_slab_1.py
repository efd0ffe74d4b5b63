# label: wrong
# title: two stages, starts at slab 1
# says: The second kernel starts at slab 1.
# names: first tile missing; the first tile left out
# base: right_transposed_tiles_two_kernels_partial_sums_in_between

# --- replace
    for k in range(slabs):
# --- with
    for k in range(1, slabs):
