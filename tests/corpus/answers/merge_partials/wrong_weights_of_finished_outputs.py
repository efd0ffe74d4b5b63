# label: wrong
# title: weights of finished outputs
# says: acc is merged by the formula for finished outputs, (w_a l_a acc_a + w_b l_b acc_b) / l, though acc is
#   a sum that has not been divided yet
# names: acc taken for O

def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """(m, l, acc) of two disjoint sets of columns together; acc is a row [1, D]."""
    m = sp.Max(m_a, m_b)
    la = l_a * sp.exp(m_a - m)
    lb = l_b * sp.exp(m_b - m)
    l = la + lb
    acc = (la / l) * acc_a + (lb / l) * acc_b
    return m, l, acc
