# label: wrong
# title: quotient of two exponentials
# says: P is exp(s) / exp(lse): for scores near -120 both are 0 in fp32, and 0 / 0 is NaN; subtract first.
# names: zero over zero
# base: _course_solution_without_markers

# --- replace
        p = tl.exp(s - lse_i[:, None])  # final at once: no maximum to track, nothing to rescale
# --- with
        p = tl.exp(s) / tl.exp(lse_i)[:, None]
