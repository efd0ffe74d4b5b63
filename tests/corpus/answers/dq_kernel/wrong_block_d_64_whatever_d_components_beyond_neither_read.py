# label: wrong
# title: BLOCK_D = 64
# says: BLOCK_D is 64 whatever D is: the components beyond are neither read nor written.
# names: never written; only the first tile; last tile missing
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
    BLOCK_D = max(16, triton.next_power_of_2(D))
# --- with
    BLOCK_D = 64
