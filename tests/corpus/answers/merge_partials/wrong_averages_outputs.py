# label: wrong
# title: averages outputs
# says: the line `acc = …` merges as if acc_a and acc_b were already divided by their l (weights l_a, l_b,
#   division by l), but acc is the undivided sum
# names: acc taken for O

def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """(m, l, acc) of two disjoint sets of columns together; acc is a row [1, D]."""
    m = sp.Max(m_a, m_b)
    share_a = l_a * sp.exp(m_a - m)
    share_b = l_b * sp.exp(m_b - m)
    l = share_a + share_b
    acc = (share_a * acc_a + share_b * acc_b) / l
    return m, l, acc
