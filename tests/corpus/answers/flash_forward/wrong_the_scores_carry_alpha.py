# label: wrong
# title: qk_scale = tl.abs(sm_scale) * 1.44269504
# says: The scores carry |alpha|.
# names: alpha's sign is lost
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    qk_scale = sm_scale * 1.44269504
# --- with
    qk_scale = tl.abs(sm_scale) * 1.44269504
