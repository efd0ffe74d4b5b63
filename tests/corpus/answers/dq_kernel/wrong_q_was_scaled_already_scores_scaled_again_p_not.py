# label: wrong
# title: s = tl.dot(qi, tl.trans(kj), input_precision="ieee") * a
# says: Q was scaled already, and the scores are scaled again: P is not the forward pass's.
# names: alpha twice in S
# base: right_delta_inside_kernel_fp32_throughout_tiles_64_from

# --- replace
            s = tl.dot(qi, tl.trans(kj), input_precision="ieee")
# --- with
            s = tl.dot(qi, tl.trans(kj), input_precision="ieee") * a
