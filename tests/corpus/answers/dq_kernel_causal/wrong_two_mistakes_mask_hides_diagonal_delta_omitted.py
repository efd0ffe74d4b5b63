# label: wrong
# title: (N - M) > curr_n / ds = p * dp
# says: Two mistakes: the mask hides the diagonal, and delta is omitted.
# names: mask hides the diagonal + delta omitted
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
            mask = offs_m[:, None] + (N - M) >= curr_n[None, :]
# --- with
            mask = offs_m[:, None] + (N - M) > curr_n[None, :]

# --- replace
        ds = p * (dp - Di[:, None])
# --- with
        ds = p * dp
