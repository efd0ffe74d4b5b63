# label: wrong
# title: mask=offs_m < M, other=0.0)
# says: 2^(S log2 e − LSE): the scores were brought to base 2, LSE was not.
# names: LSE read as base 2
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
    m = tl.load(LSE + hz * M + offs_m, mask=offs_m < M, other=0.0) * RLN2
# --- with
    m = tl.load(LSE + hz * M + offs_m, mask=offs_m < M, other=0.0)
