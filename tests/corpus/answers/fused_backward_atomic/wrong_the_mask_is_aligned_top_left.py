# label: wrong
# title: seen = seen & (columns[None, :] <= rows[:, None])
# says: The mask is aligned top-left.
# names: mask aligned top-left; one edit
# base: _course_solution

# --- replace
            seen = seen & (columns[None, :] <= rows[:, None] + S_k - S_q)
# --- with
            seen = seen & (columns[None, :] <= rows[:, None])
