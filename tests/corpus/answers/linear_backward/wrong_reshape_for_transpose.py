# label: wrong
# title: reshape for transpose
# says: `x.reshape(K, -1)` is taken for a transposition: it has the shape of x.T but the entries in another
#   order
# names: one edit

from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """dx [..., M, K] and dw [K, N] of y = x w, from x [..., M, K], w [K, N] and dy [..., M, N]."""
    K, N = w.shape
    dx = torch.matmul(dy, w.transpose(0, 1))
    dw = torch.matmul(x.reshape(K, -1), dy.reshape(-1, N))
    return dx, dw
