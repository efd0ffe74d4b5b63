# label: wrong
# title: dq = tl.dot(ds
# says: Each step overwrites dq.
# names: only the last tile remains
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
        dq += tl.dot(ds, tl.trans(kT), input_precision="ieee")
# --- with
        dq = tl.dot(ds, tl.trans(kT), input_precision="ieee")
