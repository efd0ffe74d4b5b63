# label: wrong
# title: (N - M) > curr_n
# says: A query does not see its own key.
# names: mask hides the diagonal
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
            mask = offs_m[:, None] + (N - M) >= curr_n[None, :]
# --- with
            mask = offs_m[:, None] + (N - M) > curr_n[None, :]
