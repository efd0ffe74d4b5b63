# label: wrong
# title: atomic_add of so_far + dk
# says: What was there is loaded and added once more: the first share counts twice.
# names: what was there is added again
# base: _clinic_2_kernel

# --- replace
    tl.store(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])
# --- with
    tl.atomic_add(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])
