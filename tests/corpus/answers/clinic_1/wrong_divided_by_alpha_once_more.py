# label: wrong
# title: divided by alpha, once more
# says: the last store writes `dk / alpha`: the sick kernel lacks the factor alpha, and this takes it away
#   once more (wrong by 1/alpha squared).
# names: constant factor
# base: _course_solution_without_markers

# --- replace
    tl.store(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
# --- with
    tl.store(dk_ptr + key_tile, dk / alpha, mask=in_keys[:, None])
