# label: wrong
# title: return dv, dk
# says: The launcher returns dV and dK in this order.
# names: dK and dV exchanged; outputs exchanged
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
    return dk, dv
# --- with
    return dv, dk
