# label: wrong
# title: block pointers, A not checked along K
# says: The block pointers of A are not checked along K: the last block reads beyond it.
# names: inner dimension not masked; out_of_bounds
# base: right_block_pointers_the_grids_axes_the_other_way_round

# --- replace
        a = tl.load(a_at, boundary_check=(0, 1), padding_option="zero")
# --- with
        a = tl.load(a_at, boundary_check=(0,), padding_option="zero")
