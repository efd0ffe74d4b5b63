# label: wrong
# title: The causal mask is missing.
# says: The causal mask is missing.
# names: mask forgotten
# base: _course_solution

# --- replace
            seen = seen & (keys[:, None] <= queries[None, :] + S_k - S_q)
# --- with
            seen = seen & True
