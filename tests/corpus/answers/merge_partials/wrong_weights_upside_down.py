# label: wrong
# title: weights upside down
# says: lines sp.exp(m - m_a): the factors are the inverses of what rescales to the common unit
# names: exponents with the other sign

def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    up_a = sp.exp(m - m_a)
    up_b = sp.exp(m - m_b)
    return m, l_a * up_a + l_b * up_b, acc_a * up_a + acc_b * up_b
