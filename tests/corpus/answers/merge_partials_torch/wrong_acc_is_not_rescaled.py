# label: wrong
# title: guarded, acc_a + acc_b
# says: acc is not rescaled.
# names: acc not rescaled

def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.where(m_a > m_b, m_a, m_b)
    scale_a = torch.nan_to_num(torch.exp(m_a - m), nan=0.0)
    scale_b = torch.nan_to_num(torch.exp(m_b - m), nan=0.0)
    l = scale_a * l_a + scale_b * l_b
    acc = acc_a + acc_b
    return m, l, acc
