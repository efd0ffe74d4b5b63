# label: wrong
# title: factors inverted
# says: the factors are `sp.exp(m - m_a)` and `sp.exp(m - m_b)`: the exponent has the wrong sign, from the new
#   unit to the old.
# names: exponents with the other sign

def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    fa = sp.exp(m - m_a)
    fb = sp.exp(m - m_b)
    return m, fa * l_a + fb * l_b, fa * acc_a + fb * acc_b
