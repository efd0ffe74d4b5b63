# label: wrong
# title: dK scaled by 1/√D, whatever alpha is
# says: dK needs the alpha that the kernel is given; 1/√D is the usual one, and not the only one.
# names: constant factor
# base: _clinic_1_kernel

# --- replace
    tl.store(dk_ptr + key_tile, dk, mask=in_keys[:, None])
# --- with
    tl.store(dk_ptr + key_tile, dk * (D**-0.5), mask=in_keys[:, None])
