# label: right
# title: the mask is applied to dS instead of P
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
            p = tl.where(mask, p, 0.0)
# --- with

# --- replace
        ds = ds.to(kT.dtype)
# --- with
        if CAUSAL:
            ds = tl.where(mask, ds, 0.0)
        ds = ds.to(kT.dtype)
