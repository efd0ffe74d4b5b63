# label: wrong
# title: start_m + (N - M))
# says: The loop ends before the tiles that the diagonal crosses.
# names: loop ends one block early; diagonal tiles
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
        hi = tl.minimum(N, start_m + BLOCK_M + (N - M))
# --- with
        hi = tl.minimum(N, start_m + (N - M))
