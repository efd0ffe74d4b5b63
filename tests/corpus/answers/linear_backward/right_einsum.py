# label: right
# title: einsum

from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    rows, grads = x.reshape(-1, w.shape[0]), dy.reshape(-1, w.shape[1])
    return torch.einsum("...n,kn->...k", dy, w), torch.einsum("rk,rn->kn", rows, grads)
