# label: wrong
# title: dk stored dv added
# says: `tl.store(dk_ptr + ...)` overwrites the shares of dK of the other programs; only dV is added
#   atomically
# names: race
# base: _course_solution_without_markers

# --- replace
        tl.atomic_add(dk_ptr + dkv_tile, dk_share, mask=in_tile, sem="relaxed")
# --- with
        tl.store(dk_ptr + dkv_tile, dk_share, mask=in_tile)
