# label: wrong
# title: acc times alpha, and once more
# says: acc is multiplied by the rescale factor twice in each step.
# names: acc rescaled twice
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
# --- with
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
