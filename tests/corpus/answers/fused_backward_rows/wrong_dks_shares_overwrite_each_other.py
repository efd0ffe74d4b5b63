# label: wrong
# title: tl.store(dk_ptr + dkv_tile, dk_share, mask=in_tile)
# says: dK's shares overwrite each other.
# names: race
# base: _course_solution

# --- replace
        tl.atomic_add(dk_ptr + dkv_tile, dk_share, mask=in_tile, sem="relaxed")
# --- with
        tl.store(dk_ptr + dkv_tile, dk_share, mask=in_tile)
