# label: wrong
# title: atomic and loaded sum
# says: line tl.atomic_add(dk_ptr + key_tile, so_far + alpha * dk): half mended, the old content is loaded,
#   added to the share and then added atomically once more
# names: what was there is added again
# base: _course_solution_without_markers

# --- replace
    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
# --- with
    so_far = tl.load(dk_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    tl.atomic_add(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])
