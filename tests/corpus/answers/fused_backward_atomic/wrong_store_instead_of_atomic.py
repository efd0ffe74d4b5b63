# label: wrong
# title: store instead of atomic
# says: `tl.store(dq_ptr + dq_tile, share)` overwrites what the programs of other keys have put there; the
#   shares must be added atomically.
# names: stored, not added
# base: _course_solution_without_markers

# --- replace
        tl.atomic_add(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")
# --- with
        tl.store(dq_ptr + dq_tile, share, mask=in_tile)
