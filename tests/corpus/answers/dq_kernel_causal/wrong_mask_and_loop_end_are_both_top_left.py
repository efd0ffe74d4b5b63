# label: wrong
# title: mask = offs_m[:, None] >= curr_n[None, :] / start_m + BLOCK_M)
# says: Mask and loop end are both top-left.
# names: mask aligned top-left
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
        hi = tl.minimum(N, start_m + BLOCK_M + (N - M))
# --- with
        hi = tl.minimum(N, start_m + BLOCK_M)

# --- replace
            mask = offs_m[:, None] + (N - M) >= curr_n[None, :]
# --- with
            mask = offs_m[:, None] >= curr_n[None, :]
