# label: wrong
# title: delta so far
# says: dS is made inside the loop with the delta of the tiles seen so far (`ds = p * (dp - delta)`): only the
#   last tile gets the whole delta.
# names: delta so far

from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    dq = torch.zeros_like(q)
    delta = q.new_zeros(q.shape[0], 1)
    for k, v in tiles:
        p = (alpha * (q @ k.mT) - lse[:, None]).exp()
        dp = do @ v.mT
        delta = delta + (p * dp).sum(-1, keepdim=True)
        ds = p * (dp - delta)
        dq += ds @ k
    return alpha * dq
