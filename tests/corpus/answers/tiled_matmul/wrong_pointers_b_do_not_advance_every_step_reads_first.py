# label: wrong
# title: pointers, b_ptrs never advanced
# says: The pointers of B do not advance: every step reads its first rows again.
# names: B's pointer is not advanced
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
        b_ptrs += BLOCK_SIZE_K * stride_bk
# --- with
