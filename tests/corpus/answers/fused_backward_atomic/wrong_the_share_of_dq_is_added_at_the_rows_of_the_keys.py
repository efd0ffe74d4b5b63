# label: wrong
# title: dq_tile = columns[:, None] * D
# says: The share of dQ is added at the rows of the keys.
# names: out_of_bounds; one edit; first divergence
# base: _course_solution

# --- replace
        dq_tile = rows[:, None] * D + d[None, :]
# --- with
        dq_tile = columns[:, None] * D + d[None, :]
