# part: a text that answers change
# base: dkv_kernel_causal/_dkv_transposed
