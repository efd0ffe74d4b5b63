# label: wrong
# title: k.stride(2), 1
# says: K's last stride is taken to be 1.
# names: the last stride taken to be 1; out_of_bounds
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
# --- with
        k.stride(0), k.stride(1), k.stride(2), 1,
