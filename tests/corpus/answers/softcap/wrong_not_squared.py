# label: wrong
# title: 1 − tanh
# says: The derivative of tanh is 1 − tanh², not 1 − tanh.
# names: the derivative is not squared
# base: right_by_sigmoid

# --- replace
    return ds * (1 - share * share)
# --- with
    return ds * (1 - share)
