# label: wrong
# title: tl.store(Delta + m, delta
# says: The preprocess kernel writes delta without the head's offset: heads overwrite each other.
# names: race
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
    tl.store(Delta + hz * M + m, delta, mask=m < M)
# --- with
    tl.store(Delta + m, delta, mask=m < M)
