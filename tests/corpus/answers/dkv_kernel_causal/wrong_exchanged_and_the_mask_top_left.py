# label: wrong
# title: exchanged, and the mask top-left
# says: The two gradients are returned in each other's place, and the mask is aligned top-left.
# names: dK and dV exchanged + mask aligned top-left; outputs exchanged + mask aligned top-left
# base: _course_solution

# --- replace
        seen = columns[None, :] <= rows[:, None] + S_k - S_q
# --- with
        seen = columns[None, :] <= rows[:, None]

# --- replace
    return dk, dv
# --- with
    return dv, dk
