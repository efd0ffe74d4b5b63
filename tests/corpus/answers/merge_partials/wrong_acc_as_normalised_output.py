# label: wrong
# title: acc as normalised output
# says: the last line merges acc as if it were a normalised output (weighted by l and divided by the new l, as
#   in split-K decoding); acc here is an unnormalised sum
# names: acc taken for O

def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    l_a, l_b = l_a * sp.exp(m_a - m), l_b * sp.exp(m_b - m)
    l = l_a + l_b
    return m, l, (acc_a * l_a + acc_b * l_b) / l
