# label: wrong
# title: dk += tl.dot(dsT, do, input_precision="ieee")
# says: dS meets dO where it needs Q.
# names: dK from dO
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        dk += tl.dot(dsT, tl.trans(qT), input_precision="ieee")
# --- with
        dk += tl.dot(dsT, do, input_precision="ieee")
