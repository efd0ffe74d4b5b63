# label: wrong
# title: qk_scale = 1.44269504 / tl.sqrt(HEAD_DIM.to(tl.float32))
# says: 1/√D stands where alpha belongs.
# names: alpha's sign is lost
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    qk_scale = sm_scale * 1.44269504
# --- with
    qk_scale = 1.44269504 / tl.sqrt(HEAD_DIM.to(tl.float32))
