# label: wrong
# title: in keys dropped noncausal
# says: the line `s = tl.where(in_keys...)` is missing, so padded keys are never masked without IS_CAUSAL
# names: padded keys are not masked
# base: _course_solution_without_markers

# --- replace
        s = tl.where(in_keys[None, :], s, -float("inf"))
# --- with
