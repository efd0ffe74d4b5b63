# label: wrong
# title: the exponent has the factor 2 twice
# says: y is 2 x / cap already, and tanh is taken of y, so that the score is cap · tanh(2 x / cap).
# names: twice the argument of tanh
# base: right_by_libdevice

# --- replace
    return extras[0] * libdevice.tanh(x / extras[0])
# --- with
    y = 2 * x / extras[0]
    return extras[0] * libdevice.tanh(y)
# --- replace
    t = libdevice.tanh(x / extras[0])
# --- with
    t = s / extras[0]
