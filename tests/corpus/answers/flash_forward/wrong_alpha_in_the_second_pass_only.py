# label: wrong
# title: alpha in the second pass only
# says: The maximum is that of the unscaled scores, the exponent has the scaled ones.
# names: the maximum lacks alpha
# base: right_two_passes_q_scaled_beforehand_minus_1e30_as_filler

# --- replace
    q = load_2d(q_ptr, i, d, Nq, D, D, 1).to(tl.float32) * alpha
# --- with
    q = load_2d(q_ptr, i, d, Nq, D, D, 1).to(tl.float32)

# --- replace
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
# --- with
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
