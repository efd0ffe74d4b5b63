# label: wrong
# title: tl.dot(q, tl.trans(k)
# says: The scores lack alpha.
# names: alpha is missing from S
# base: right_one_program_per_pair_tiles_atomics_into_zeros_in

# --- replace
        s = tl.dot(q * a, tl.trans(k), input_precision="ieee")
# --- with
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
