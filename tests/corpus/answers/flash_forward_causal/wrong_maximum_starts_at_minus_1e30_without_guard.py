# label: wrong
# title: maximum starts at -1e30
# says: A query that sees no key gets LSE = -1e30, the number at which the maximum starts, where it must be -inf.
# names: finite in place of −∞
# base: _course_solution_without_markers

# --- replace
    m_i = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
# --- with
    m_i = tl.full((BLOCK_Q,), -1e30, tl.float32)

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)  # -inf + log 0 = -inf
# --- with
    tl.store(lse_ptr + rows, m_i + tl.log(tl.maximum(l_i, 1.0)), mask=in_queries)
