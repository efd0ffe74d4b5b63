# label: wrong
# title: dv = (dv + tl.dot(ppT, do, input_precision="ieee")).to(do.dtype) / dk = (dk + tl.dot(dsT,
#   tl.trans(qT), input_precision="ieee")).to(do.dtype)
# says: dK and dV are accumulated in half precision.
# names: accumulated in half precision; precision; crashed
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        dv += tl.dot(ppT, do, input_precision="ieee")
# --- with
        dv = (dv + tl.dot(ppT, do, input_precision="ieee")).to(do.dtype)

# --- replace
        dk += tl.dot(dsT, tl.trans(qT), input_precision="ieee")
# --- with
        dk = (dk + tl.dot(dsT, tl.trans(qT), input_precision="ieee")).to(do.dtype)
