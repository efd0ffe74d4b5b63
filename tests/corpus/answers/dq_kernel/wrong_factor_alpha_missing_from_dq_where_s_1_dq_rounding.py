# label: wrong
# title: dq without sm_scale
# says: The factor alpha is missing from dQ; where S is 1, dQ is rounding and nothing else.
# names: alpha is missing from dQ
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
    dq *= sm_scale
# --- with
