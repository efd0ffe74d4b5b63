# label: wrong
# title: dv = tl.dot(tl.trans(p).to(do.dtype), o, dv / tl.store(dk_ptr + at_j, dk * alpha, mask=ok_j)
# says: Two mistakes: dV is summed from O, and dK carries alpha twice.
# names: dV from O + alpha applied twice to dK
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
        dv = tl.dot(tl.trans(p).to(do.dtype), do, dv, input_precision="ieee")
# --- with
        dv = tl.dot(tl.trans(p).to(do.dtype), o, dv, input_precision="ieee")

# --- replace
    tl.store(dk_ptr + at_j, dk, mask=ok_j)
# --- with
    tl.store(dk_ptr + at_j, dk * alpha, mask=ok_j)
