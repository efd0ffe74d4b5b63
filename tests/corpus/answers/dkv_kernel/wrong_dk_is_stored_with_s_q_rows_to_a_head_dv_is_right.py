# label: wrong
# title: tl.store(DK + (bhid * N_Q + offs_n)
# says: dK is stored with S_q rows to a head; dV is right.
# names: out_of_bounds; race; never written
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
    tl.store(DK + (bhid * N_KV + offs_n)[:, None] * HEAD_DIM + offs_k[None, :], dk.to(DK.dtype.element_ty), mask=nmask)
# --- with
    tl.store(DK + (bhid * N_Q + offs_n)[:, None] * HEAD_DIM + offs_k[None, :], dk.to(DK.dtype.element_ty), mask=nmask)
