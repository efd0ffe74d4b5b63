# label: wrong
# title: delta so far, once more
# says: two: the line `ds = …` subtracts the delta of the tiles seen so far instead of the whole row's, and `p
#   = …` forgets alpha in the scores
# names: delta so far; scores without alpha

from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    """dQ [S_q, D] from one walk over tiles (k, v) of the keys and values."""
    dq = torch.zeros_like(q)
    delta = torch.zeros_like(lse)
    for k, v in tiles:
        p = torch.exp(q @ k.T - lse[:, None])
        dp = do @ v.T
        delta = delta + (p * dp).sum(dim=1)
        ds = p * (dp - delta[:, None])
        dq = dq + ds @ k
    return alpha * dq
