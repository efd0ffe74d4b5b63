# label: wrong
# title: the sum is exchanged
# says: The exchange is atomic, the load before it is not: what the other program adds in between is lost.
# names: the sum is exchanged
# base: _clinic_2_kernel

# --- replace
    tl.store(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])
# --- with
    tl.atomic_xchg(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])
