# label: wrong
# title: mask transposed
# says: line `seen`: the mask is transposed, keys j ≥ i + S_k − S_q are kept
# names: leak from the future
# base: _course_solution_without_markers

# --- replace
        seen = columns[None, :] <= rows[:, None] + S_k - S_q
# --- with
        seen = columns[None, :] >= rows[:, None] + S_k - S_q
