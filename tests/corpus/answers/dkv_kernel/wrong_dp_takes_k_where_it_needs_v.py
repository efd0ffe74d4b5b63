# label: wrong
# title: dpT = tl.dot(k, tl.trans(do)
# says: dP takes K where it needs V.
# names: dP from K
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        dpT = tl.dot(v, tl.trans(do), input_precision="ieee").to(tl.float32)
# --- with
        dpT = tl.dot(k, tl.trans(do), input_precision="ieee").to(tl.float32)
