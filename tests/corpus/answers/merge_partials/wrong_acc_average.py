# label: wrong
# title: acc average
# says: last line: acc is divided by the merged l although the parts are kept undivided
# names: O in place of acc

def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    top = sp.Max(m_a, m_b)
    a, b = sp.exp(m_a - top), sp.exp(m_b - top)
    l = a * l_a + b * l_b
    return top, l, (a * acc_a + b * acc_b) / l
