# label: wrong
# title: acc already divided by l
# says: acc is divided by l at the end of the merge. A partial result keeps acc in units of e^m, and the
#   division waits for the very end; a second merge of this result is wrong too.
# names: O in place of acc

def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    w_a = sp.exp(m_a - m)
    w_b = sp.exp(m_b - m)
    l = l_a * w_a + l_b * w_b
    acc = (acc_a * w_a + acc_b * w_b) / l
    return m, l, acc
