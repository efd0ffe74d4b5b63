# label: wrong
# title: exp2 without log2 e
# says: exp2 of scores that were never multiplied by log2 e: a softmax of S ln 2.
# names: log2 e is missing from S
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    qk_scale = sm_scale * 1.44269504
# --- with
    qk_scale = sm_scale
