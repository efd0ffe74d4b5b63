# label: wrong
# title: + p * delta[:, None] / grad, mask
# says: Two mistakes: delta is added, and alpha is missing from dQ.
# names: delta added + alpha is missing from dQ
# base: right_delta_inside_kernel_fp32_throughout_tiles_64_from

# --- replace
            ds = p * tl.dot(gi, tl.trans(vj), input_precision="ieee") - p * delta[:, None]
            grad = tl.dot(ds, kj, grad, input_precision="ieee")
    tl.store(dq + at, grad * a, mask=ok)
# --- with
            ds = p * tl.dot(gi, tl.trans(vj), input_precision="ieee") + p * delta[:, None]
            grad = tl.dot(ds, kj, grad, input_precision="ieee")
    tl.store(dq + at, grad, mask=ok)
