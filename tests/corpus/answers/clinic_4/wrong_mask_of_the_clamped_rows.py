# label: wrong
# title: mask of the clamped rows
# says: `(safe < S_q)[:, None]` is always true, since safe was clamped; the mask must ask rows
# names: padded queries repeat the last one
# base: _course_solution_without_markers

# --- replace
        p = tl.where((rows < S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
# --- with
        p = tl.where((safe < S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
