# label: wrong
# title: vT = tl.load(vT_ptrs)
# says: V is read without a mask beyond S_k.
# names: out_of_bounds
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
        vT = tl.load(vT_ptrs, mask=kmask, other=0.0)
# --- with
        vT = tl.load(vT_ptrs)
