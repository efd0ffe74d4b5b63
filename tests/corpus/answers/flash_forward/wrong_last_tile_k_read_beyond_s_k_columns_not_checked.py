# label: wrong
# title: tl.load(Kb, boundary_check=(0,)
# says: The last tile of K is read beyond S_k: its columns are not checked.
# names: out_of_bounds; keys loaded without a mask
# base: right_block_pointers_with_boundary_checks_128_by_16_tiles

# --- replace
        k = tl.load(Kb, boundary_check=(0, 1), padding_option="zero")
# --- with
        k = tl.load(Kb, boundary_check=(0,), padding_option="zero")
