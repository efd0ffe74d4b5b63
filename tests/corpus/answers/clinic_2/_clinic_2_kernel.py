# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
# --- with
    so_far = tl.load(dk_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    tl.store(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])
