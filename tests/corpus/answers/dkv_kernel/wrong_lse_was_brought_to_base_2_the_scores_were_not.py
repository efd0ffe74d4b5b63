# label: wrong
# title: sm_scale
# says: LSE was brought to base 2, the scores were not.
# names: log2 e is missing from S
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        pT = tl.math.exp2(qkT * (sm_scale * LOG2E) - (m * LOG2E)[None, :])
# --- with
        pT = tl.math.exp2(qkT * sm_scale - (m * LOG2E)[None, :])
