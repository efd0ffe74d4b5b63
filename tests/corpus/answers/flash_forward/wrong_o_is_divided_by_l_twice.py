# label: wrong
# title: tl.store(o_ptrs, (acc / l_i[:, None]).to(
# says: O is divided by l twice.
# names: divided by l twice
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    tl.store(o_ptrs, acc.to(Out.type.element_ty), mask=(offs_m[:, None] < N_Q) & (offs_d[None, :] < HEAD_DIM))
# --- with
    tl.store(o_ptrs, (acc / l_i[:, None]).to(Out.type.element_ty), mask=(offs_m[:, None] < N_Q) & (offs_d[None, :] < HEAD_DIM))
