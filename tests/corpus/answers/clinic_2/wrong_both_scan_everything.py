# label: wrong
# title: both scan everything
# says: Both halves were given the whole: each share is added twice.
# names: written twice; constant factor
# base: _course_solution_without_markers

# --- replace
):
# --- with
):  # fmt: skip

# --- replace
    first = tl.program_id(1) * half
    end = tl.minimum(S_q, first + half)
# --- with
    first = 0 * half
    end = S_q
