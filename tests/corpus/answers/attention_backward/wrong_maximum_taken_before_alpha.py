# label: wrong
# title: maximum taken before alpha
# says: The row maximum of Q Kᵀ is subtracted before multiplying by alpha. For a negative alpha that is the
#   smallest score, not the largest, and the exponentials overflow to inf / inf.
# names: maximum before alpha

from torch import Tensor

def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    qk = q @ k.T
    e = torch.exp(alpha * (qk - qk.amax(dim=1, keepdim=True)))  # safe softmax
    p = e / e.sum(dim=1, keepdim=True)
    dv = p.T @ do
    dp = do @ v.T
    delta = (p * dp).sum(dim=1, keepdim=True)
    ds = alpha * p * (dp - delta)
    return ds @ k, ds.T @ q, dv
