# label: wrong
# title: factors the wrong way round
# says: The factors are exp(m − m_a) and exp(m − m_b): it must be exp(m_a − m), at most 1, which converts the
#   part's unit to the common one. Wrong whenever m_a ≠ m_b.
# names: exponents with the other sign

def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    scale_a = sp.exp(m - m_a)
    scale_b = sp.exp(m - m_b)
    l = scale_a * l_a + scale_b * l_b
    acc = scale_a * acc_a + scale_b * acc_b
    return m, l, acc
