# label: wrong
# title: shift is never negative
# says: S_k - S_q is raised to 0: with more queries than keys it must be negative, and early queries see no key.
# names: one edit; leak from the future
# base: _course_solution_without_markers

# --- replace
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
# --- with
    last_seen = rows + tl.maximum(S_k - S_q, 0)
