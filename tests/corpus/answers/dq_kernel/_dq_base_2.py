# part: a text that answers change
# base: dq_kernel_causal/_dq_base_2
