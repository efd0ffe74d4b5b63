# label: wrong
# title: (N - M) >= offs_n[None, :]
# says: The mask compares the key's number within its tile.
# names: leak from the future
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
            mask = offs_m[:, None] + (N - M) >= curr_n[None, :]
# --- with
            mask = offs_m[:, None] + (N - M) >= offs_n[None, :]
