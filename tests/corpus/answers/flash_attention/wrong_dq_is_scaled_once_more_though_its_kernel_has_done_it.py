# label: wrong
# title: return dq * ctx.softmax_scale, dk, dv, None, None
# says: dQ is scaled once more, though its kernel has done it.
# names: alpha applied twice to dQ; constant factor
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        return dq, dk, dv, None, None
# --- with
        return dq * ctx.softmax_scale, dk, dv, None, None
