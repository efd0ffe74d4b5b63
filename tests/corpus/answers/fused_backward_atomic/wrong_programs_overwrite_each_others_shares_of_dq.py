# label: wrong
# title: tl.store(dq_ptr + dq_tile, share, mask=in_tile)
# says: Programs overwrite each other's shares of dQ.
# names: stored, not added; race
# base: _course_solution

# --- replace
        tl.atomic_add(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")
# --- with
        tl.store(dq_ptr + dq_tile, share, mask=in_tile)
