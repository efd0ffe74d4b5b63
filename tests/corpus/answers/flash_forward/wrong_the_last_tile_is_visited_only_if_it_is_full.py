# label: wrong
# title: range(0, N_KV - BLOCK_N + 1, BLOCK_N)
# says: The last tile is visited only if it is full.
# names: loop ends one tile early; last tile missing
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    for start_n in range(0, N_KV, BLOCK_N):
# --- with
    for start_n in range(0, N_KV - BLOCK_N + 1, BLOCK_N):
