# label: wrong
# title: new axis put in second place
# says: `w[:, None]` puts the new axis behind the first dimension. For m of shape [R] that is right; for [H,
#   R] it gives [H, 1, R], which does not line up with acc [H, R, D] (an error, or wrong if D = R). Use
#   unsqueeze(-1).
# names: crashed

def merge_partials_torch(
    m_a, l_a, acc_a, m_b, l_b, acc_b
):
    m = torch.max(m_a, m_b)
    safe = m.masked_fill(m == float("-inf"), 0.0)
    w_a = torch.exp(m_a - safe)
    w_b = torch.exp(m_b - safe)
    l = l_a * w_a + l_b * w_b
    acc = acc_a * w_a[:, None] + acc_b * w_b[:, None]
    return m, l, acc
