# label: wrong
# title: softmax without maximum
# says: the line `e = torch.exp(alpha * q @ k.T)` takes exponentials without subtracting the maximum: scores
#   beyond 88 overflow and P is inf/inf
# names: maximum not subtracted

from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    e = torch.exp(alpha * q @ k.T)
    p = e / e.sum(dim=1, keepdim=True)
    o = p @ v
    dv = p.T @ do
    delta = torch.einsum("id,id->i", do, o)
    ds = p * (do @ v.T - delta[:, None])
    return alpha * ds @ k, alpha * ds.T @ q, dv
