# label: wrong
# title: atomic_max
# says: An atomic maximum is not a sum.
# names: the larger share, not the sum
# base: _clinic_2_kernel

# --- replace
    so_far = tl.load(dk_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    tl.store(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])
# --- with
    tl.atomic_max(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
