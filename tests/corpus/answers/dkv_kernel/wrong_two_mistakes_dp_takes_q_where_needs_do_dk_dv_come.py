# label: wrong
# title: tl.dot(q, tl.trans(v) / return dv, dk
# says: Two mistakes: dP takes Q where it needs dO, and dK and dV come back exchanged.
# names: dP from Q + dK and dV exchanged; dP from Q + outputs exchanged
# base: right_queries_from_last_first_delta_in_loop_alpha_in_ds_64

# --- replace
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None]) * alpha
# --- with
        ds = p * (tl.dot(q, tl.trans(v), input_precision="ieee") - delta[:, None]) * alpha

# --- replace
    return dk, dv
# --- with
    return dv, dk
