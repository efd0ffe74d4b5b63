# label: wrong
# title: normalised again
# says: line `p = tl.exp`: divides by the sum of the tile as if lse were only the maximum
# names: one edit
# base: _course_solution_without_markers

# --- replace
    p = tl.exp(s - shift[:, None])  # at most 1, and no sum: the row's is in lse already
# --- with
    p = tl.exp(s - shift[:, None])
    p = p / tl.sum(p, axis=1)[:, None]  # at most 1, and no sum: the row's is in lse already
