# label: wrong
# title: dq *= sm_scale * sm_scale / mask=offs_m < M, other=0.0)
# says: Two mistakes: alpha is squared, and LSE is read as base 2.
# names: alpha applied twice + LSE read as base 2
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
    m = tl.load(LSE + hz * M + offs_m, mask=offs_m < M, other=0.0) * RLN2
# --- with
    m = tl.load(LSE + hz * M + offs_m, mask=offs_m < M, other=0.0)

# --- replace
    dq *= sm_scale
# --- with
    dq *= sm_scale * sm_scale
