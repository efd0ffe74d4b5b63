# label: wrong
# title: vT_ptrs stays where it is
# says: V's pointer is not advanced: dP is made of the first tile of V in every step.
# names: V's pointer is not advanced
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
        vT_ptrs += BLOCK_N * s_vn
# --- with
