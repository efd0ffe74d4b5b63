# label: right
# title: delta weighted on its own
# base: _clinic_7_kernel

# --- replace
        ds = p * dp
# --- with
        ds = p * dp - p * delta_i[:, None]
