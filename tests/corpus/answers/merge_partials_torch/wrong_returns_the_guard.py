# label: wrong
# title: returns the guard
# says: returns `safe`, in which −inf was replaced by 0, as the maximum of an empty row, so that an empty row
#   no longer merges as the identity.
# names: the guard's 0 is returned

from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    m = torch.maximum(m_a, m_b)
    safe = m.masked_fill(m.isinf(), 0.0)
    a, b = torch.exp(m_a - safe), torch.exp(m_b - safe)
    l = a * l_a + b * l_b
    acc = a[..., None] * acc_a + b[..., None] * acc_b
    return safe, l, acc
