# label: wrong
# title: b turned where it is square
# says: A B whose second size is K is taken to be transposed: so is every square one.
# names: views taken for contiguous; transposed; one edit
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
    K, N = b.shape
# --- with
    b = b.t() if b.shape[1] == K else b
    K, N = b.shape
