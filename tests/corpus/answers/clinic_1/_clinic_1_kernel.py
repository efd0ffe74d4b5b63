# part: a text that answers change
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    tl.store(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
# --- with
    tl.store(dk_ptr + key_tile, dk, mask=in_keys[:, None])
