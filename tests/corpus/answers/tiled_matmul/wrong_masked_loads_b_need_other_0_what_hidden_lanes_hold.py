# label: wrong
# title: pointers, no other=
# says: The masked loads of A and B need other=0: what hidden lanes hold enters the sum.
# names: masked load without other
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
# --- with
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K)
