# label: wrong
# title: sm_scale
# says: 2^(S − LSE log2 e): LSE was brought to base 2, the scores were not.
# names: log2 e is missing from S
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
        qk = tl.dot(q, kT, input_precision="ieee") * (sm_scale * RLN2)
# --- with
        qk = tl.dot(q, kT, input_precision="ieee") * sm_scale
