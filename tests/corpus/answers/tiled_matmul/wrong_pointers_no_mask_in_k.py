# label: wrong
# title: pointers, no mask in k
# says: The inner dimension is not masked in either load.
# names: inner dimension not masked; out_of_bounds
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
# --- with
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
