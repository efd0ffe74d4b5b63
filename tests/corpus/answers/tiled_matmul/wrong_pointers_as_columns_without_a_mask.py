# label: wrong
# title: pointers, A's columns without a mask
# says: A's mask lacks inner < K.
# names: out_of_bounds; inner dimension not masked
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
# --- with
        a = tl.load(a_ptrs)
