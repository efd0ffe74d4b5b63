# label: wrong
# title: dS times tanh
# says: dS is multiplied by tanh itself and not by its derivative.
# names: tanh instead of its derivative; one edit
# base: right_by_libdevice

# --- replace
    return ds - ds * t * t
# --- with
    return ds * t
