# label: wrong
# title: tl.atomic_max(
# says: Atomic, but a maximum.
# names: one edit; first divergence
# base: _course_solution

# --- replace
        tl.atomic_add(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")
# --- with
        tl.atomic_max(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")
