# label: wrong
# title: start_m = tl.cdiv(tl.maximum(0, start_n - (N_KV - N_Q)), BLOCK_M1) * BLOCK_M1
# says: The start is rounded up to a whole tile instead of down.
# names: the first block that sees the keys is left out
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
        start_m = tl.maximum(0, start_n - (N_KV - N_Q)) // BLOCK_M1 * BLOCK_M1
# --- with
        start_m = tl.cdiv(tl.maximum(0, start_n - (N_KV - N_Q)), BLOCK_M1) * BLOCK_M1
