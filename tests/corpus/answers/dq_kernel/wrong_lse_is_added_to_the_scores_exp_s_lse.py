# label: wrong
# title: + L[:, None]
# says: LSE is added to the scores: exp(S + LSE).
# names: LSE added
# base: right_delta_inside_kernel_fp32_throughout_tiles_64_from

# --- replace
            p = tl.exp(tl.where(see, s, float("-inf")) - L[:, None])
# --- with
            p = tl.exp(tl.where(see, s, float("-inf")) + L[:, None])
