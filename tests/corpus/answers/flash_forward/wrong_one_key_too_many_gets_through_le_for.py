# label: wrong
# title: tl.where(offs_n[None, :] <= n_left, qk
# says: One key too many gets through: ≤ for <.
# names: one padded key is not masked
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
        qk = tl.where(offs_n[None, :] < n_left, qk, float("-inf"))
# --- with
        qk = tl.where(offs_n[None, :] <= n_left, qk, float("-inf"))
