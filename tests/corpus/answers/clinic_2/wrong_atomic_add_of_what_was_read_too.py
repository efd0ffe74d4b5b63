# label: wrong
# title: atomic add of what was read too
# says: the last line adds `so_far + alpha * dk` atomically: what was read is already in memory and is counted
#   again.
# names: what was there is added again
# base: _course_solution_without_markers

# --- replace
    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
# --- with
    so_far = tl.load(dk_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    tl.atomic_add(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])
