# label: wrong
# title: p = p.to(v.dtype) l_ij = tl.sum(p, 1)
# says: l is summed in half precision: P is rounded before the sum.
# names: precision; one edit
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
        l_ij = tl.sum(p, 1)
# --- with
        p = p.to(v.dtype)
        l_ij = tl.sum(p, 1)
