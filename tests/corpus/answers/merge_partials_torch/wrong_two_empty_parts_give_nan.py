# label: wrong
# title: two empty parts give NaN
# says: No guard: where both maxima are −inf, `m_a - m` is −inf + inf, and l and acc become NaN for that row.
#   Subtract 0 where m is −inf.
# names: the empty merge is not guarded

def merge_partials_torch(
    m_a, l_a, acc_a, m_b, l_b, acc_b
):
    m = torch.maximum(m_a, m_b)
    alpha = torch.exp(m_a - m)
    beta = torch.exp(m_b - m)
    l = alpha * l_a + beta * l_b
    acc = alpha[..., None] * acc_a + beta[..., None] * acc_b
    return m, l, acc
