# label: wrong
# title: rows, m_i overwritten too early
# says: m_i is overwritten before alpha is taken from it: alpha is always 1.
# names: l not rescaled; not rescaled
# base: right_four_rows_per_program

# --- replace
        alpha = tl.exp(m_i - m_safe)
# --- with
        m_i = m_new
        alpha = tl.exp(m_i - m_safe)

# --- replace
        m_i = m_new
    tl.store(L + offs_m, m_i + tl.log(l_i), mask=ok_m)
# --- with
    tl.store(L + offs_m, m_i + tl.log(l_i), mask=ok_m)
