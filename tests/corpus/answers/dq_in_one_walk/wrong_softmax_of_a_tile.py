# label: wrong
# title: softmax of a tile
# says: line p = torch.softmax(scores, 1): every tile is normalised by itself and lse is never used
# names: a softmax of each tile

from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    a = torch.zeros_like(q)
    b = torch.zeros_like(q)
    e = q.new_zeros(len(q))
    for k, v in tiles:
        scores = alpha * q @ k.mT
        p = torch.softmax(scores, 1)
        gain = p * (do @ v.mT)
        a = a + gain @ k
        b = b + p @ k
        e = e + gain.sum(1)
    return alpha * (a - e[:, None] * b)
