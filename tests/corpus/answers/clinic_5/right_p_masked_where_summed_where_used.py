# label: right
# title: p masked where it is summed, and once more where it is used
# base: _clinic_5_kernel

# --- replace
        l_i = l_i * rescale + tl.sum(p, axis=1)
# --- with
        l_i = l_i * rescale + tl.sum(tl.where(seen, p, 0.0), axis=1)
