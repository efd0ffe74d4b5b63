# label: wrong
# title: mask = offs_m[:, None] >= curr_n[None, :]
# says: The mask is aligned top-left, as in a tutorial that knows only N_CTX.
# names: mask aligned top-left
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
            mask = offs_m[:, None] + (N - M) >= curr_n[None, :]
# --- with
            mask = offs_m[:, None] >= curr_n[None, :]
