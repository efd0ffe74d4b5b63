# label: wrong
# title: guard for whole part
# says: lines if (m_a == -inf).all(): the guard looks at the whole part, so single rows that are empty in both
#   still become NaN
# names: inf minus inf

from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    if (m_a == -math.inf).all():
        return m_b, l_b, acc_b
    if (m_b == -math.inf).all():
        return m_a, l_a, acc_a
    m = torch.maximum(m_a, m_b)
    a, b = (m_a - m).exp(), (m_b - m).exp()
    return m, a * l_a + b * l_b, a.unsqueeze(-1) * acc_a + b.unsqueeze(-1) * acc_b
