# label: wrong
# title: The causal mask is aligned top-left.
# says: The causal mask is aligned top-left.
# names: mask aligned top-left
# base: _course_solution

# --- replace
            seen = seen & (keys[:, None] <= queries[None, :] + S_k - S_q)
# --- with
            seen = seen & (keys[:, None] <= queries[None, :])
