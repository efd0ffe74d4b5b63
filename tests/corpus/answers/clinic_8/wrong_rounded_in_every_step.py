# label: wrong
# title: rounded in every step
# says: acc is wide, and rounded again in every step.
# names: the accumulator is in half precision; precision; overflow
# base: _course_solution_without_markers

# --- replace
        acc = (acc * rescale[:, None] + pv).to(acc.dtype)
# --- with
        acc = (acc * rescale[:, None] + pv).to(v.dtype).to(tl.float32)
