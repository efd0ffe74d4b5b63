# label: wrong
# title: only leading batch summed
# says: line `dw = ...mean`: averages over the batch as a loss would, instead of adding the gradients
# names: constant factor

from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    dx = torch.einsum("...mn,kn->...mk", dy, w)
    per_sample = torch.einsum("...mk,...mn->...kn", x, dy)
    dw = per_sample.reshape(-1, *w.shape).mean(0)
    return dx, dw
