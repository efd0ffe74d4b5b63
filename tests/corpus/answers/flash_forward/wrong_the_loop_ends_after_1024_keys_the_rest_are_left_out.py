# label: wrong
# title: range(0, min(N_KV, 1024), BLOCK_N)
# says: The loop ends after 1024 keys: the rest are left out.
# names: last tile missing; only the first tile
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    for start_n in range(0, N_KV, BLOCK_N):
# --- with
    for start_n in range(0, min(N_KV, 1024), BLOCK_N):
