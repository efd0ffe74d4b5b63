# label: right
# title: nan to num, once more, once more, once more

from torch import Tensor


def merge_partials_torch(
    m_a: Tensor, l_a: Tensor, acc_a: Tensor, m_b: Tensor, l_b: Tensor, acc_b: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(m, l, acc) of two parts: m, l [..., R] and acc [..., R, D]; (−inf, 0, 0) is an empty row."""
    ms = torch.stack((m_a, m_b))
    m = ms.amax(dim=0)
    w = torch.nan_to_num((ms - m).exp(), nan=0.0)
    l = (w * torch.stack((l_a, l_b))).sum(dim=0)
    acc = (w[..., None] * torch.stack((acc_a, acc_b))).sum(dim=0)
    return m, l, acc
