# label: wrong
# title: + p * delta[:, None]
# says: delta comes with the wrong sign.
# names: delta added
# base: right_delta_inside_kernel_if_in_loop_instead_end_backwards

# --- replace
            ds = p * tl.dot(gi, tl.trans(vj), input_precision="ieee") - p * delta[:, None]
# --- with
            ds = p * tl.dot(gi, tl.trans(vj), input_precision="ieee") + p * delta[:, None]
