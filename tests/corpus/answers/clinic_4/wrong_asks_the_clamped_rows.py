# label: wrong
# title: asks the clamped rows
# says: the line for p asks `(safe < S_q)[:, None]`, which is true in every lane since safe was clamped:
#   padded queries still repeat the last one.
# names: padded queries repeat the last one
# base: _course_solution_without_markers

# --- replace
        p = tl.where((rows < S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
# --- with
        p = tl.where((safe < S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
