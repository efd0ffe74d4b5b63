# label: wrong
# title: delta without keepdim, anew
# says: line delta = (p * dp).sum(-1): the sum has lost its axis, so it broadcasts along the keys (and crashes
#   where S_q is not S_k)
# names: crashed; one edit

from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    p = torch.softmax(q @ k.T * alpha, dim=1)
    dv = p.T @ do
    dp = do @ v.T
    delta = (p * dp).sum(-1)
    ds = p * (dp - delta) * alpha
    return ds @ k, ds.T @ q, dv
