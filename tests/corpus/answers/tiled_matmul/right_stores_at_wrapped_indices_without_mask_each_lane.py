# label: right
# title: stores at wrapped indices without a mask: each lane twice, with the same value
# base: right_grouped_programs_advancing_pointers_addresses_modulo

# --- replace
    offs_m = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_n = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
# --- with
    offs_m = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M).to(tl.int64)) % M
    offs_n = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N).to(tl.int64)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K).to(tl.int64)

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
