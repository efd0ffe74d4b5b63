# label: wrong
# title: divided by alpha
# says: dK is divided by alpha, where it must be multiplied.
# names: constant factor
# base: _clinic_1_kernel

# --- replace
    tl.store(dk_ptr + key_tile, dk, mask=in_keys[:, None])
# --- with
    tl.store(dk_ptr + key_tile, dk / alpha, mask=in_keys[:, None])
