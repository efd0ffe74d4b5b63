# label: wrong
# title: two walks
# says: walks `tiles` twice: the second `for` finds the generator exhausted, so dq stays zero.
# names: crashed

from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    def probabilities(k):
        return torch.exp(alpha * q @ k.T - lse.unsqueeze(1))

    delta = torch.zeros(q.shape[0], dtype=q.dtype, device=q.device)
    for k, v in tiles:
        delta += (probabilities(k) * (do @ v.T)).sum(1)
    dq = torch.zeros_like(q)
    for k, v in tiles:
        dq += probabilities(k) * (do @ v.T - delta[:, None]) @ k
    return alpha * dq
