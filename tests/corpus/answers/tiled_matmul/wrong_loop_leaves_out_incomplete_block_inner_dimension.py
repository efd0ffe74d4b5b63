# label: wrong
# title: pointers, K // BLOCK_SIZE_K steps
# says: The loop leaves out the incomplete block of the inner dimension.
# names: last block of K left out; last tile missing
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
# --- with
    for k in range(0, K // BLOCK_SIZE_K):
