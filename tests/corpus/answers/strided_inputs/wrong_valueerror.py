# label: wrong
# title: ValueError
# says: A dtype that does not fit is refused with ValueError, where TypeError is asked for.
# names: review
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
            raise TypeError(f"{name} has dtype {x.dtype}; q has {q.dtype}, allowed are {OK}")
# --- with
            raise ValueError(f"{name} has dtype {x.dtype}; q has {q.dtype}, allowed are {OK}")
