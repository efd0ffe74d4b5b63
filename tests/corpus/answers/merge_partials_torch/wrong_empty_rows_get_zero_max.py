# label: wrong
# title: empty rows get zero max
# says: line m = m.nan_to_num(neginf=0.0): the guard is returned as m, so an empty row has m = 0 and not -inf
# names: the guard's 0 is returned

from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    m = torch.maximum(m_a, m_b)
    m = m.nan_to_num(neginf=0.0)
    f_a = torch.exp(m_a - m)
    f_b = torch.exp(m_b - m)
    l = f_a * l_a + f_b * l_b
    acc = f_a[..., None] * acc_a + f_b[..., None] * acc_b
    return m, l, acc
