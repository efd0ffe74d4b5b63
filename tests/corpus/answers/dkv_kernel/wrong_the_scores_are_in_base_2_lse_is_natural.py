# label: wrong
# title: m[None, :]
# says: The scores are in base 2, LSE is natural.
# names: LSE read as base 2
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        pT = tl.math.exp2(qkT * (sm_scale * LOG2E) - (m * LOG2E)[None, :])
# --- with
        pT = tl.math.exp2(qkT * (sm_scale * LOG2E) - m[None, :])
