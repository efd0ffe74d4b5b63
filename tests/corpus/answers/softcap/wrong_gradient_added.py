# label: wrong
# title: 1 + tanh²
# says: The derivative of tanh is 1 − tanh²; here the square is added.
# names: tanh² added to 1; one edit
# base: right_by_libdevice

# --- replace
    return ds - ds * t * t
# --- with
    return ds + ds * t * t
