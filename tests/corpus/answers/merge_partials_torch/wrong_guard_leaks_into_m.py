# label: wrong
# title: guard leaks into m
# says: the line `m = torch.where(torch.isinf(m), torch.zeros_like(m), m)` puts the guard into m itself, so an
#   empty row comes back with m = 0 instead of -inf
# names: the guard's 0 is returned

from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    m = torch.maximum(m_a, m_b)
    m = torch.where(torch.isinf(m), torch.zeros_like(m), m)  # both empty: no NaN
    fa, fb = torch.exp(m_a - m), torch.exp(m_b - m)
    acc = fa[..., None] * acc_a + fb[..., None] * acc_b
    return m, fa * l_a + fb * l_b, acc
