# label: wrong
# title: alpha into q twice
# says: line dk = alpha * ds.T @ q: q has been overwritten by alpha * q, so alpha counts twice in dK
# names: alpha applied twice

from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    q = alpha * q
    w = torch.softmax(q @ k.T, dim=-1)
    dw = do @ v.T
    o = w @ v
    ds = w * (dw - (o * do).sum(1, keepdim=True))
    dq = alpha * ds @ k
    dk = alpha * ds.T @ q
    dv = w.T @ do
    return dq, dk, dv
