# label: wrong
# title: tl.store(DQ + (hz * N + offs_m)
# says: dQ is written with K's length between the heads.
# names: out_of_bounds; race; never written
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
    tl.store(DQ + (hz * M + offs_m)[:, None] * D + offs_d[None, :], dq.to(DQ.dtype.element_ty), mask=qmask)
# --- with
    tl.store(DQ + (hz * N + offs_m)[:, None] * D + offs_d[None, :], dq.to(DQ.dtype.element_ty), mask=qmask)
