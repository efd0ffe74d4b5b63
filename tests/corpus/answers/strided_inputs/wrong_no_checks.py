# label: wrong
# title: no checks
# says: Nothing is checked: what does not fit is taken without a word.
# names: review
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
    check_args(q, k, v)
# --- with
