# label: wrong
# title: vT_ptrs stays where it is
# says: V's pointer is not advanced.
# names: V's pointer is not advanced
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
        vT_ptrs += BLOCK_N * s_vn
# --- with
