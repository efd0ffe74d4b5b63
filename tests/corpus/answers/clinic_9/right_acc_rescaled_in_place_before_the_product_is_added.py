# label: right
# title: acc rescaled in place before the product is added
# base: _clinic_9_kernel

# --- replace
        acc = acc + pv
# --- with
        acc *= rescale[:, None]
        acc += pv
