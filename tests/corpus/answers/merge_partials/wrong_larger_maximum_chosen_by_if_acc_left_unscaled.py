# label: wrong
# title: larger maximum chosen by if, acc left unscaled
# says: Two mistakes: `if m_a > m_b` cannot be decided for symbols (TypeError); it takes sp.Max. And acc is
#   added without the two factors, right only for m_a = m_b.
# names: crashed; acc not rescaled

def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    if m_a > m_b:
        m = m_a
    else:
        m = m_b
    l = sp.exp(m_a - m) * l_a + sp.exp(m_b - m) * l_b
    acc = acc_a + acc_b
    return m, l, acc
