# label: wrong
# title: 1 − (x / cap)²
# says: The derivative is taken from x where the capped score belongs.
# names: the derivative has x where it needs s; one edit
# base: right_by_libdevice

# --- replace
    t = libdevice.tanh(x / extras[0])
    return ds - ds * t * t
# --- with
    return ds * (1 - (x / extras[0]) * (x / extras[0]))
