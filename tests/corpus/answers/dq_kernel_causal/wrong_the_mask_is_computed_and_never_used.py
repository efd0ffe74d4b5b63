# label: wrong
# title: the mask is computed and never used
# says: There is no mask inside the tiles on the diagonal.
# names: mask forgotten; leak from the future; diagonal tiles
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
            p = tl.where(mask, p, 0.0)
# --- with
