# label: wrong
# title: delta / S_k
# says: delta is divided by the number of keys, as if it were a sum and not a mean.
# names: delta divided by the number of keys
# base: _clinic_7_kernel

# --- replace
        ds = p * dp
# --- with
        ds = p * (dp - delta_i[:, None] / S_k)
