# label: wrong
# title: q = (q * qk_scale).to(q.dtype)
# says: q is rounded to the inputs' half precision after it was multiplied by alpha.
# names: precision
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    for start_n in range(0, N_KV, BLOCK_N):
# --- with
    q = (q * qk_scale).to(q.dtype)
    qk_scale = 1.0
    for start_n in range(0, N_KV, BLOCK_N):
