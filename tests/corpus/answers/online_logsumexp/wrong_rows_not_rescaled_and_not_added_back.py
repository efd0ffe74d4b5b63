# label: wrong
# title: rows, not rescaled and not added back
# says: The sum is not rescaled, and the maximum is not added back: two mistakes.
# names: l not rescaled + maximum not added back; not rescaled + maximum not added back
# base: right_four_rows_per_program

# --- replace
        l_i = l_i * alpha + tl.sum(tl.exp(x - m_safe[:, None]), 1)
        m_i = m_new
    tl.store(L + offs_m, m_i + tl.log(l_i), mask=ok_m)
# --- with
        l_i = l_i + tl.sum(tl.exp(x - m_safe[:, None]), 1)
        m_i = m_new
    tl.store(L + offs_m, tl.log(l_i), mask=ok_m)
