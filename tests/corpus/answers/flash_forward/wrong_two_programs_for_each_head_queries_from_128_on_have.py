# label: wrong
# title: grid = (2, Z * H, 1)
# says: Two programs for each head: queries from 128 on have none.
# names: never written
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    start_m = tl.program_id(1).to(tl.int64)
    off_hz = tl.program_id(0).to(tl.int64)
# --- with
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)

# --- replace
    grid = (Z * H, triton.cdiv(N_Q, 64), 1)
# --- with
    grid = (2, Z * H, 1)
