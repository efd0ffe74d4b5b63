# label: wrong
# title: atomic adds what was there
# says: tl.atomic_add(…, so_far + alpha * dk) adds the value that it has loaded a second time (and so_far is
#   still read without order beside another program); only the share alpha * dk may be added.
# names: what was there is added again
# base: _course_solution_without_markers

# --- replace
    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
# --- with
    so_far = tl.load(dk_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    tl.atomic_add(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])
