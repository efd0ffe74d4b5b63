# label: right
# title: tiles that begin at the first query that sees a key, not at a multiple of the block
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
        start_m = tl.maximum(0, start_n - (N_KV - N_Q)) // BLOCK_M1 * BLOCK_M1
# --- with
        start_m = tl.maximum(0, start_n - (N_KV - N_Q))
