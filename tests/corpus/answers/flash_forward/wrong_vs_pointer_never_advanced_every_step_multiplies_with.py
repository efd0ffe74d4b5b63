# label: wrong
# title: v_ptrs stays where it is
# says: V's pointer is never advanced: every step multiplies with the first tile of V.
# names: V's pointer is not advanced
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
        v_ptrs += BLOCK_N * stride_vn
# --- with
