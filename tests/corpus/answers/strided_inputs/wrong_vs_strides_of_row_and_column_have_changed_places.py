# label: wrong
# title: v.stride(3), v.stride(2)
# says: V's strides of row and column have changed places.
# names: out_of_bounds
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
# --- with
        v.stride(0), v.stride(1), v.stride(3), v.stride(2),
