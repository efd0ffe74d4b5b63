# label: wrong
# title: keeps the wrong mask
# says: p is masked only through the scores of padded keys (`tl.where(in_keys...)`) as before; the repeated
#   last query of the ragged block still counts several times.
# names: padded queries repeat the last one
# base: _course_solution_without_markers

# --- replace
        p = tl.where((rows < S_q)[:, None], tl.exp(s - lse_i[:, None]), 0.0)
# --- with
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
