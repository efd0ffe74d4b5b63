# label: wrong
# title: guarded maximum returned
# says: the guarded maximum is returned as m (m is overwritten by the masked_fill line), so a row that is
#   empty in both parts gets m = 0 instead of -inf
# names: the guard's 0 is returned

from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(m, l, acc) of two parts: m, l [..., R] and acc [..., R, D]; (−inf, 0, 0) is an empty row."""
    m = torch.maximum(m_a, m_b)
    m = m.masked_fill(torch.isinf(m), 0.0)  # no NaN
    fa = torch.exp(m_a - m)
    fb = torch.exp(m_b - m)
    l = fa * l_a + fb * l_b
    acc = fa[..., None] * acc_a + fb[..., None] * acc_b
    return m, l, acc
