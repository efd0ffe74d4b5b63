# label: wrong
# title: fp32 out
# says: lines x = x.float() ...: computed in fp32 and never converted back, so dx and dw have not the dtype of
#   the inputs when those are half
# names: shape

from torch import Tensor


def linear_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    x, w, dy = x.float(), w.float(), dy.float()
    K, N = w.shape
    dx = torch.einsum("...n,kn->...k", dy, w)
    dw = torch.einsum("ik,in->kn", x.reshape(-1, K), dy.reshape(-1, N))
    return dx, dw
