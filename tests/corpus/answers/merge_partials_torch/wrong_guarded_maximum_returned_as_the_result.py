# label: wrong
# title: guarded maximum returned as the result
# says: The guard replaces −inf by 0 in m itself, and this m is returned: for a row that is empty in both
#   parts the result is (0, 0, 0) where (−inf, 0, 0) is asked for. Keep the guard in a name of its own.
# names: the guard's 0 is returned

def merge_partials_torch(
    m_a, l_a, acc_a, m_b, l_b, acc_b
):
    m = torch.maximum(m_a, m_b)
    m = torch.where(torch.isinf(m), torch.zeros_like(m), m)  # avoid inf - inf
    wa = (m_a - m).exp()
    wb = (m_b - m).exp()
    return m, wa * l_a + wb * l_b, wa.unsqueeze(-1) * acc_a + wb.unsqueeze(-1) * acc_b
