# label: wrong
# title: without dk *= sm_scale / (dv * sm_scale).to(DV.dtype.element_ty)
# says: alpha was put on dV instead of dK.
# names: alpha on dV + alpha is missing from dK
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
    tl.store(DV + (bhid * N_KV + offs_n)[:, None] * HEAD_DIM + offs_k[None, :], dv.to(DV.dtype.element_ty), mask=nmask)
    # Write back dK.
    dk *= sm_scale
# --- with
    tl.store(DV + (bhid * N_KV + offs_n)[:, None] * HEAD_DIM + offs_k[None, :], (dv * sm_scale).to(DV.dtype.element_ty), mask=nmask)
    # Write back dK.
