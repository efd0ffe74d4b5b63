# label: wrong
# title: keys cut at 512
# says: The loop ends after 512 keys: the rest are left out.
# names: last tile missing; only the first tile
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
    hi = N
# --- with
    hi = tl.minimum(N, 512)
