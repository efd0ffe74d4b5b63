# label: wrong
# title: pointers, neither advanced
# says: Neither pointer advances.
# names: addresses do not advance
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
# --- with
