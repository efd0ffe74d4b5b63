# label: wrong
# title: tanh of half the score, and s² / cap
# says: 2 σ(x / cap) − 1 is tanh(x / 2 cap), and the gradient divides s² by cap once instead of twice.
# names: half the argument of tanh + the derivative is divided by cap once
# base: right_by_libdevice

# --- replace
    return extras[0] * libdevice.tanh(x / extras[0])
# --- with
    return extras[0] * (2 * tl.sigmoid(x / extras[0]) - 1)
# --- replace
    t = libdevice.tanh(x / extras[0])
    return ds - ds * t * t
# --- with
    return ds * (1 - s * s / extras[0])
