# label: wrong
# title: - p * delta[None, :]
# says: delta lies along the keys.
# names: delta along the keys
# base: right_delta_inside_kernel_fp32_throughout_tiles_64_from

# --- replace
            ds = p * tl.dot(gi, tl.trans(vj), input_precision="ieee") - p * delta[:, None]
# --- with
            ds = p * tl.dot(gi, tl.trans(vj), input_precision="ieee") - p * delta[None, :]
