# label: wrong
# title: stacked, the clamped maximum returned
# says: The clamped maximum is returned; an empty row has −inf.
# names: the guard's 0 is returned

def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m_both = torch.stack([m_a, m_b])
    top = m_both.max(dim=0).values
    finite = torch.where(torch.isinf(top), torch.zeros(()), top)
    weights = (m_both - finite).exp()
    l = (weights * torch.stack([l_a, l_b])).sum(0)
    acc = (weights.unsqueeze(-1) * torch.stack([acc_a, acc_b])).sum(0)
    return finite, l, acc
