# label: right
# title: no guard for an LSE of −∞, since P is set to 0 after the exponential
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
        m = tl.where(m == float("-inf"), 0.0, m)
# --- with
        m = m + 0.0
