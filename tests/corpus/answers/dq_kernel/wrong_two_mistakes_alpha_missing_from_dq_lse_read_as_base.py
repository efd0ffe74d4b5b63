# label: wrong
# title: without dq *= sm_scale / mask=offs_m < M, other=0.0)
# says: Two mistakes: alpha is missing from dQ, and LSE is read as base 2.
# names: alpha is missing from dQ + LSE read as base 2
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
    m = tl.load(LSE + hz * M + offs_m, mask=offs_m < M, other=0.0) * RLN2
# --- with
    m = tl.load(LSE + hz * M + offs_m, mask=offs_m < M, other=0.0)

# --- replace
    dq *= sm_scale
# --- with
