# label: wrong
# title: share, sem
# says: The share is added without a mask.
# names: shares added without a mask; out_of_bounds
# base: _course_solution

# --- replace
        tl.atomic_add(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")
# --- with
        tl.atomic_add(dq_ptr + dq_tile, share, sem="relaxed")
