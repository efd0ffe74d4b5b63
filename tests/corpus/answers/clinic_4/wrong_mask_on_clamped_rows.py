# label: wrong
# title: mask on clamped rows
# says: line p = tl.where((safe < S_q)...): the clamped row numbers are always below S_q, so nothing is masked
# names: padded queries repeat the last one
# base: _course_solution_without_markers

# --- replace
        p = tl.where((rows < S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
# --- with
        p = tl.where((safe < S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
