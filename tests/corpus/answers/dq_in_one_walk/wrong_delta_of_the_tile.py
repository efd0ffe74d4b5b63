# label: wrong
# title: delta of the tile
# says: the line `delta = (p * dp).sum(1, keepdim=True)` is the delta of one tile only and is subtracted at
#   once, though delta needs all keys
# names: delta of the tile alone

from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    dq = torch.zeros_like(q)
    for k, v in tiles:
        s = alpha * q @ k.T
        p = torch.exp(s - lse[:, None])
        dp = do @ v.T
        delta = (p * dp).sum(1, keepdim=True)
        ds = p * (dp - delta)
        dq += alpha * ds @ k
    return dq
