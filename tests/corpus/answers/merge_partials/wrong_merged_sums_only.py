# label: wrong
# title: merged sums only
# says: Only the sums are rescaled; acc needs the same factors.
# names: acc not rescaled

def merged_sums_only(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    l = l_a * sp.exp(m_a - m) + l_b * sp.exp(m_b - m)
    return m, l, acc_a + acc_b
