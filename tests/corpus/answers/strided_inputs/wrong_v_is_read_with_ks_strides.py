# label: wrong
# title: *k.stride()
# says: V is read with K's strides.
# names: v read with k's strides; out_of_bounds
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
# --- with
        *k.stride(),
