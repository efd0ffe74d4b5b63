# label: wrong
# title: tl.where(offs_n[None, :] < n_left, qk, 0.0)
# says: Padded keys get the score 0 instead of −∞ and are counted in l.
# names: padded keys are not masked
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
        qk = tl.where(offs_n[None, :] < n_left, qk, float("-inf"))
# --- with
        qk = tl.where(offs_n[None, :] < n_left, qk, 0.0)
