# label: wrong
# title: guarded, scales without [..., None]
# says: acc needs a last dimension for the weight: it broadcasts along the rows instead.
# names: crashed

def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.where(m_a > m_b, m_a, m_b)
    scale_a = torch.nan_to_num(torch.exp(m_a - m), nan=0.0)
    scale_b = torch.nan_to_num(torch.exp(m_b - m), nan=0.0)
    l = scale_a * l_a + scale_b * l_b
    acc = acc_a * scale_a + acc_b * scale_b
    return m, l, acc
