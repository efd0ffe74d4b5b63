# label: right
# title: stores at wrapped indices without a mask: each lane twice, with the same value
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
# --- with
    offs_cm = offs_m
    offs_cn = offs_n

# --- replace
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=c_mask)
# --- with
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty))
