# label: wrong
# title: scale = triton.next_power_of_2(D)**-0.5 if alpha is None else alpha
# says: The default is one over the root of the padded D.
# names: alpha from the padded D
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
    scale = D**-0.5 if alpha is None else alpha
# --- with
    scale = triton.next_power_of_2(D)**-0.5 if alpha is None else alpha
