# label: wrong
# title: mean over batch
# says: `dw.mean(0)` averages over the sequences; gradients of a weight that is used several times add.
# names: constant factor

from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    dx = torch.matmul(dy, w.T)
    dw = torch.matmul(x.transpose(-1, -2), dy)
    while dw.ndim > 2:
        dw = dw.mean(0)
    return dx, dw
