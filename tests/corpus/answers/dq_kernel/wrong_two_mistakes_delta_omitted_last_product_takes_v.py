# label: wrong
# title: without - p * delta[:, None] / tl.dot(ds, vj, grad
# says: Two mistakes: delta is omitted, and the last product takes V.
# names: delta omitted + dQ from V
# base: right_delta_inside_kernel_fp32_throughout_tiles_64_from

# --- replace
            ds = p * tl.dot(gi, tl.trans(vj), input_precision="ieee") - p * delta[:, None]
            grad = tl.dot(ds, kj, grad, input_precision="ieee")
# --- with
            ds = p * tl.dot(gi, tl.trans(vj), input_precision="ieee")
            grad = tl.dot(ds, vj, grad, input_precision="ieee")
