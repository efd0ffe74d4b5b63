# label: wrong
# title: flatten all rows first
# says: line x.reshape(K, -1) @ dy.reshape(-1, N): reshape is taken for a transpose, so dw mixes up the
#   entries of x
# names: one edit

from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    K, N = w.shape
    dw = x.reshape(K, -1) @ dy.reshape(-1, N)
    dx = dy @ w.T
    return dx, dw
