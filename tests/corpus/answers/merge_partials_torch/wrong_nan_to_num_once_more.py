# label: wrong
# title: nan to num, once more
# says: line `wa`: the two weights are crossed, part a gets exp(m_b − m)
# names: weights exchanged

def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.maximum(m_a, m_b)
    wa = torch.nan_to_num(torch.exp(m_b - m), nan=0.0)
    wb = torch.nan_to_num(torch.exp(m_a - m), nan=0.0)
    l = wa * l_a + wb * l_b
    acc = wa[..., None] * acc_a + wb[..., None] * acc_b
    return m, l, acc
