# label: wrong
# title: mask = offs_m[:, None] >= curr_n[None, :] / without dq *= sm_scale
# says: Two mistakes: top-left alignment, and alpha is missing from dQ.
# names: mask aligned top-left + alpha is missing from dQ
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
            mask = offs_m[:, None] + (N - M) >= curr_n[None, :]
# --- with
            mask = offs_m[:, None] >= curr_n[None, :]

# --- replace
    dq *= sm_scale
# --- with
