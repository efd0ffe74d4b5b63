# label: wrong
# title: start_m = start_n // BLOCK_M1 * BLOCK_M1
# says: The loop starts at the program's own block, as if S_q were S_k.
# names: loop start without S_k − S_q
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
        start_m = tl.maximum(0, start_n - (N_KV - N_Q)) // BLOCK_M1 * BLOCK_M1
# --- with
        start_m = start_n // BLOCK_M1 * BLOCK_M1
