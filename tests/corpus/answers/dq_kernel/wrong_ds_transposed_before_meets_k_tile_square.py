# label: wrong
# title: tl.dot(tl.trans(ds), kj, grad
# says: dS is transposed before it meets K; the tile is square.
# names: dS transposed
# base: right_delta_inside_kernel_fp32_throughout_tiles_64_from

# --- replace
            grad = tl.dot(ds, kj, grad, input_precision="ieee")
# --- with
            grad = tl.dot(tl.trans(ds), kj, grad, input_precision="ieee")
