# label: wrong
# title: dv from dsT
# says: dV is summed from dS instead of P.
# names: dV from dS
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        dv += tl.dot(ppT, do, input_precision="ieee")
# --- with

# --- replace
        dk += tl.dot(dsT, tl.trans(qT), input_precision="ieee")
# --- with
        dv += tl.dot(dsT, do, input_precision="ieee")
        dk += tl.dot(dsT, tl.trans(qT), input_precision="ieee")
