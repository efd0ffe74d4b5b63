# label: right
# title: both parts stacked, the maximum clamped

def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m_both = torch.stack([m_a, m_b])
    top = m_both.max(dim=0).values
    finite = torch.clamp(top, min=-1e30)
    weights = (m_both - finite).exp()
    l = (weights * torch.stack([l_a, l_b])).sum(0)
    acc = (weights.unsqueeze(-1) * torch.stack([acc_a, acc_b])).sum(0)
    return top, l, acc
