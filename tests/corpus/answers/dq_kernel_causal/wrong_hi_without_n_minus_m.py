# label: wrong
# title: hi without N − M
# says: The loop ends at the top-left diagonal, though the mask is right.
# names: loop end without S_k − S_q
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
        hi = tl.minimum(N, start_m + BLOCK_M + (N - M))
# --- with
        hi = tl.minimum(N, start_m + BLOCK_M)
