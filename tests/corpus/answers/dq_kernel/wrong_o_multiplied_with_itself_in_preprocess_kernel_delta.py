# label: wrong
# title: o.to(tl.float32) * o.to(tl.float32), axis=1
# says: O is multiplied with itself in the preprocess kernel: delta is Σ O².
# names: delta from O alone
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1)
# --- with
    delta = tl.sum(o.to(tl.float32) * o.to(tl.float32), axis=1)
