# label: wrong
# title: m_safe = m_ij
# says: A row that has seen nothing yet: −∞ − (−∞) in the exponent.
# names: rows that see nothing are NaN; inf minus inf
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
        m_safe = tl.where(m_ij == float("-inf"), 0.0, m_ij)
# --- with
        m_safe = m_ij
