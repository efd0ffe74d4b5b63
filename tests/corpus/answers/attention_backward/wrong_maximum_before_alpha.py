# label: wrong
# title: maximum before alpha
# says: the row's maximum is taken of Q Kᵀ before alpha is applied (line `e = ...`): with a negative alpha the
#   exponent is positive and overflows
# names: maximum before alpha

from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) of O = softmax(alpha Q Kᵀ) V, given dO: matrices [S, D]."""
    qk = q @ k.T
    e = torch.exp(alpha * (qk - qk.max(dim=1, keepdim=True).values))
    p = e / e.sum(dim=1, keepdim=True)
    o = p @ v
    dv = p.T @ do
    dp = do @ v.T
    ds = p * (dp - (o * do).sum(dim=1, keepdim=True))
    dq = alpha * (ds @ k)
    dk = alpha * (ds.T @ q)
    return dq, dk, dv
