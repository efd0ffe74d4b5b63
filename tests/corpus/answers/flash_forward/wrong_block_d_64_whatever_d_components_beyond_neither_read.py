# label: wrong
# title: BLOCK_D = 64
# says: BLOCK_D is 64 whatever D is: the components beyond are neither read nor written.
# names: never written; only the first tile; the first tile again and again; last tile missing
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
        H, N_Q, N_KV, HEAD_DIM, BLOCK_M=64, BLOCK_N=32, BLOCK_DMODEL=max(16, triton.next_power_of_2(HEAD_DIM)),
# --- with
        H, N_Q, N_KV, HEAD_DIM, BLOCK_M=64, BLOCK_N=32, BLOCK_DMODEL=64,
