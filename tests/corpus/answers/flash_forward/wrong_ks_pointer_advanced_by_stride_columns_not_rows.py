# label: wrong
# title: k_ptrs += BLOCK_N * stride_kk
# says: K's pointer is advanced by the stride of its columns, not of its rows.
# names: out_of_bounds; never read
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
        k_ptrs += BLOCK_N * stride_kn
# --- with
        k_ptrs += BLOCK_N * stride_kk
