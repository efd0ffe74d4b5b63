# label: wrong
# title: running delta
# says: line ds = p * (dp - delta): delta is still a partial sum when a tile uses it, only the last tile sees
#   the whole
# names: delta so far

from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    dq = torch.zeros_like(q)
    delta = torch.zeros(q.shape[0], 1, dtype=q.dtype, device=q.device)
    for k, v in tiles:
        p = (alpha * (q @ k.T) - lse.unsqueeze(1)).exp()
        dp = do @ v.T
        delta = delta + (p * dp).sum(1, keepdim=True)
        ds = p * (dp - delta)
        dq += ds @ k
    return alpha * dq
