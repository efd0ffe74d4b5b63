# label: wrong
# title: rounds each step
# says: acc starts in fp32, but each step rounds it to the dtype of v: `acc =
#   (...).to(v.dtype).to(tl.float32)`.
# names: the accumulator is in half precision
# base: _course_solution_without_markers

# --- replace
        acc = (acc * rescale[:, None] + pv).to(acc.dtype)
# --- with
        acc = (acc * rescale[:, None] + pv).to(v.dtype).to(tl.float32)
