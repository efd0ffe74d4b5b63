# label: right
# title: weights mended

from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    m = torch.max(m_a, m_b)
    weights = torch.stack([m_a - m, m_b - m]).exp().nan_to_num(nan=0.0)
    l = (weights * torch.stack([l_a, l_b])).sum(0)
    acc = (weights[..., None] * torch.stack([acc_a, acc_b])).sum(0)
    return m, l, acc
