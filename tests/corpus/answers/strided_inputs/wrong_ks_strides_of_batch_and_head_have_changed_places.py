# label: wrong
# title: k.stride(1), k.stride(0),
# says: K's strides of batch and head have changed places.
# names: heads and batch exchanged; out_of_bounds
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
# --- with
        k.stride(1), k.stride(0), k.stride(2), k.stride(3),
