# label: wrong
# title: guarded, l_a + l_b
# says: Only acc is rescaled.
# names: l not rescaled

def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.where(m_a > m_b, m_a, m_b)
    scale_a = torch.nan_to_num(torch.exp(m_a - m), nan=0.0)
    scale_b = torch.nan_to_num(torch.exp(m_b - m), nan=0.0)
    l = l_a + l_b
    acc = acc_a * scale_a[..., None] + acc_b * scale_b[..., None]
    return m, l, acc
