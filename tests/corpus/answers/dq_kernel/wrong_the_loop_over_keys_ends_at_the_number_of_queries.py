# label: wrong
# title: hi = M
# says: The loop over keys ends at the number of queries.
# names: loop over S_q
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
    hi = N
# --- with
    hi = M
