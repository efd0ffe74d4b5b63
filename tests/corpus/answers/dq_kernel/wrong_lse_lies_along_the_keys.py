# label: wrong
# title: - L[None, :]
# says: LSE lies along the keys.
# names: LSE along the keys; one edit
# base: right_delta_inside_kernel_fp32_throughout_tiles_64_from

# --- replace
            p = tl.exp(tl.where(see, s, float("-inf")) - L[:, None])
# --- with
            p = tl.exp(tl.where(see, s, float("-inf")) - L[None, :])
