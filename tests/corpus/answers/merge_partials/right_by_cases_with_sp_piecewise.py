# label: right
# title: by cases, with sp.Piecewise

def merged_by_cases(m_a, l_a, acc_a, m_b, l_b, acc_b):
    first = m_a >= m_b
    m = sp.Piecewise((m_a, first), (m_b, True))
    w_a = sp.Piecewise((1, first), (sp.exp(m_a - m_b), True))
    w_b = sp.Piecewise((sp.exp(m_b - m_a), first), (1, True))
    return m, l_a * w_a + l_b * w_b, acc_a * w_a + acc_b * w_b
