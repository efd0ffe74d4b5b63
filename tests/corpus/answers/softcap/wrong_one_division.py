# label: wrong
# title: s² / cap
# says: (s / cap)² is s² / cap²; here s² is divided by cap once.
# names: the derivative is divided by cap once; one edit
# base: right_by_libdevice

# --- replace
    t = libdevice.tanh(x / extras[0])
    return ds - ds * t * t
# --- with
    return ds - ds * s * s / extras[0]
