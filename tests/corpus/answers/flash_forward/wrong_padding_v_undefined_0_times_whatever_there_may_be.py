# label: wrong
# title: tl.load(Vb, boundary_check=(0, 1))
# says: The padding of V is undefined; 0 times whatever is there may be NaN.
# names: masked load without other
# base: right_block_pointers_with_boundary_checks_128_by_16_tiles

# --- replace
        v = tl.load(Vb, boundary_check=(0, 1), padding_option="zero")
# --- with
        v = tl.load(Vb, boundary_check=(0, 1))
