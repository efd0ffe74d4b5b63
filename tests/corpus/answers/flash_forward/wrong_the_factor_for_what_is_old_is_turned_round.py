# label: wrong
# title: exp(m_new − m_old)
# says: The factor for what is old is turned round.
# names: rescale with the wrong sign
# base: _course_solution

# --- replace
        rescale = tl.exp(m_i - m_new)  # 0 for the first tile: exp(-inf)
# --- with
        rescale = tl.exp(m_new - m_i)  # 0 for the first tile: exp(-inf)
