# label: wrong
# title: alpha twice
# says: the line `ds = alpha * p * (dp - delta)` has alpha already, and the last line multiplies dq and dk by
#   it again
# names: alpha applied twice

from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    scores = alpha * (q @ k.mT)
    p = scores.softmax(-1)
    dp = do @ v.mT
    delta = (p * dp).sum(-1, keepdim=True)
    ds = alpha * p * (dp - delta)
    dq, dk, dv = ds @ k, ds.mT @ q, p.mT @ do
    return alpha * dq, alpha * dk, dv
