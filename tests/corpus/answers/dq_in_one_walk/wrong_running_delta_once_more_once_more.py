# label: wrong
# title: running delta, once more, once more
# says: delta is used inside the loop while it is still growing (line `dq = dq + ...`), so all tiles but the
#   last subtract an incomplete delta
# names: delta so far

from torch import Tensor


def dq_in_one_walk(q: Tensor, do: Tensor, lse: Tensor, tiles, alpha: float) -> Tensor:
    """dQ [S_q, D] from one walk over tiles (k, v) of the keys and values."""
    dq = torch.zeros_like(q)
    delta = q.new_zeros(q.shape[0], 1)
    for k, v in tiles:
        s = alpha * (q @ k.mT)
        p = (s - lse.unsqueeze(1)).exp()
        dp = do @ v.mT
        delta = delta + (p * dp).sum(-1, keepdim=True)
        dq = dq + (p * (dp - delta)) @ k
    return alpha * dq
