# label: wrong
# title: merged and divided
# says: acc was divided by l: O, not acc.
# names: O in place of acc

def merged_and_divided(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    a, b = sp.exp(m_a - m), sp.exp(m_b - m)
    l = a * l_a + b * l_b
    return m, l, ((a * acc_a + b * acc_b) / l).applyfunc(sp.simplify)
