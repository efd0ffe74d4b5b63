# label: wrong
# title: a copy of k
# says: k alone is copied.
# names: review
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
    Z, H, N_Q, D = q.shape
# --- with
    k = k.clone()
    Z, H, N_Q, D = q.shape
