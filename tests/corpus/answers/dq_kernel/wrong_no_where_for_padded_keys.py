# label: wrong
# title: no where for padded keys
# says: A key that does not exist gets P = exp(−LSE), infinite where LSE is far below zero.
# names: padded keys get a probability; overflow
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
        p = tl.where(curr_n[None, :] < N, p, 0.0)
# --- with
