# label: wrong
# title: start_m + BLOCK_M1
# says: The loop starts one tile after the first that sees the keys.
# names: loop starts one block late
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
        start_m = tl.maximum(0, start_n - (N_KV - N_Q)) // BLOCK_M1 * BLOCK_M1
# --- with
        start_m = tl.maximum(0, start_n - (N_KV - N_Q)) // BLOCK_M1 * BLOCK_M1 + BLOCK_M1
