# label: wrong
# title: times one
# says: Nothing was changed that matters: dK still lacks alpha.
# names: alpha is missing from dK
# base: _clinic_1_kernel

# --- replace
    tl.store(dk_ptr + key_tile, dk, mask=in_keys[:, None])
# --- with
    tl.store(dk_ptr + key_tile, dk * 1.0, mask=in_keys[:, None])
