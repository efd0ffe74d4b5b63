# label: wrong
# title: guard outside if
# says: line `shift`: the guard for rows that saw nothing is removed under IS_CAUSAL (NaN for queries without
#   a key)
# names: rows that see nothing are NaN
# base: _course_solution_without_markers

# --- replace
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)
# --- with
            shift = m_new
