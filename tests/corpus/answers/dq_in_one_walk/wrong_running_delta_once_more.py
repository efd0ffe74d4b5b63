# label: wrong
# title: running delta, once more
# says: line `out +=`: subtracts the delta known so far inside the loop, although it is complete only after
#   the last tile
# names: delta so far

from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    out = torch.zeros_like(q)
    delta = q.new_zeros(q.shape[0], 1)
    for kt, vt in tiles:
        p = torch.exp(alpha * (q @ kt.mT) - lse.unsqueeze(1))
        dp = do @ vt.mT
        delta = delta + (p * dp).sum(1, keepdim=True)
        out += (p * (dp - delta)) @ kt
    return alpha * out
