# label: wrong
# title: grid = (2, Z * H, 1)
# says: Two programs for each head: queries from 128 on have none.
# names: never written
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    grid = (triton.cdiv(N_Q, 64), Z * H, 1)
# --- with
    grid = (2, Z * H, 1)
