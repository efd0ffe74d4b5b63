# label: wrong
# title: rows, no guard
# says: Without the guard −inf − (−inf) is NaN.
# names: −inf minus −inf; inf minus inf
# base: right_four_rows_per_program

# --- replace
        m_safe = tl.where(m_new == float("-inf"), 0.0, m_new)
# --- with
        m_safe = m_new
