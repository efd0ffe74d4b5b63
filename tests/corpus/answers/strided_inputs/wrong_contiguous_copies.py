# label: wrong
# title: contiguous copies
# says: q, k and v are copied first, whatever their strides.
# names: review
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
    Z, H, N_Q, D = q.shape
# --- with
    q, k, v = (x.contiguous() for x in (q, k, v))
    Z, H, N_Q, D = q.shape
