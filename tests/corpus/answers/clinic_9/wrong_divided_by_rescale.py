# label: wrong
# title: divided by rescale
# says: acc is divided by the factor instead of multiplied.
# names: divided by rescale; zero over zero
# base: _clinic_9_kernel

# --- replace
        acc = acc + pv
# --- with
        acc = acc / rescale[:, None] + pv
