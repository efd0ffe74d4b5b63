# label: right
# title: nan to num

from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    m, l, acc = torch.stack([m_a, m_b]), torch.stack([l_a, l_b]), torch.stack([acc_a, acc_b])
    best = m.amax(dim=0)
    weights = torch.nan_to_num((m - best).exp(), nan=0.0)
    return best, (weights * l).sum(0), torch.einsum("p...r,p...rd->...rd", weights, acc)
