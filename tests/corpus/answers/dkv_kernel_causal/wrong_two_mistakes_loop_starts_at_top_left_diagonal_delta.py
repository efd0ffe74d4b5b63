# label: wrong
# title: start_m = start_n // BLOCK_M1 * BLOCK_M1 / dsT = pT * dpT
# says: Two mistakes: the loop starts at the top-left diagonal, and delta is omitted.
# names: loop start without S_k − S_q + delta omitted
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
        start_m = tl.maximum(0, start_n - (N_KV - N_Q)) // BLOCK_M1 * BLOCK_M1
# --- with
        start_m = start_n // BLOCK_M1 * BLOCK_M1

# --- replace
        dsT = pT * (dpT - Di[None, :])
# --- with
        dsT = pT * dpT
