# label: wrong
# title: guarded, scales exchanged
# says: Each part has the other's weight.
# names: weights exchanged

def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.where(m_a > m_b, m_a, m_b)
    scale_a = torch.nan_to_num(torch.exp(m_b - m), nan=0.0)
    scale_b = torch.nan_to_num(torch.exp(m_a - m), nan=0.0)
    l = scale_a * l_a + scale_b * l_b
    acc = acc_a * scale_a[..., None] + acc_b * scale_b[..., None]
    return m, l, acc
