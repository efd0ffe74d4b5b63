# label: wrong
# title: dq = (dq + tl.dot(ds, tl.trans(kT), input_precision="ieee")).to(q.dtype)
# says: dq is rounded to half precision after every tile.
# names: dQ accumulated in half precision; precision; crashed
# base: right_tutorials_kernel_k_v_loaded_transposed_preprocess

# --- replace
        dq += tl.dot(ds, tl.trans(kT), input_precision="ieee")
# --- with
        dq = (dq + tl.dot(ds, tl.trans(kT), input_precision="ieee")).to(q.dtype)
