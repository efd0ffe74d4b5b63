# label: wrong
# title: LSE is taken for one of base 2.
# says: LSE is taken for one of base 2.
# names: log2 e is missing from LSE
# base: _course_solution

# --- replace
        p = gl.exp2(s * (alpha * LOG2_E) - (lse * LOG2_E)[None, :])
# --- with
        p = gl.exp2(s * (alpha * LOG2_E) - lse[None, :])
