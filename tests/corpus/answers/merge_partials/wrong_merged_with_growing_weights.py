# label: wrong
# title: merged with growing weights
# says: The exponents have the other sign.
# names: exponents with the other sign

def merged_with_growing_weights(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    up_a, up_b = sp.exp(m) / sp.exp(m_a), sp.exp(m) / sp.exp(m_b)
    return m, l_a * up_a + l_b * up_b, acc_a * up_a + acc_b * up_b
