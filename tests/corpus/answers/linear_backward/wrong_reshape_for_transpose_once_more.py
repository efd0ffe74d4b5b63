# label: wrong
# title: reshape for transpose, once more
# says: in the dw line `x.reshape(K, -1)` is meant as the transpose of the flattened x, but a reshape only
#   re-reads the numbers row by row in another shape
# names: one edit

from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """dx [..., M, K] and dw [K, N] of y = x w, from x [..., M, K], w [K, N] and dy [..., M, N]."""
    K, N = w.shape
    dx = dy @ w.T
    dw = x.reshape(K, -1) @ dy.reshape(-1, N)  # [K, B*M] @ [B*M, N]
    return dx, dw
