# label: wrong
# title: merged into b
# says: Part b is assumed to hold the larger maximum.
# names: one part's maximum for both

def merged_into_b(m_a, l_a, acc_a, m_b, l_b, acc_b):
    w = sp.exp(m_a - m_b)
    return m_b, w * l_a + l_b, w * acc_a + acc_b
