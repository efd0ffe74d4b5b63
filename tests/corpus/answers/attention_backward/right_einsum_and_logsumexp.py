# label: right
# title: einsum and logsumexp

from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) of O = softmax(alpha Q Kᵀ) V, given dO: matrices [S, D]."""
    s = alpha * torch.einsum("id,jd->ij", q, k)
    p = torch.exp(s - torch.logsumexp(s, dim=1, keepdim=True))
    dp = torch.einsum("id,jd->ij", do, v)
    ds = alpha * p * (dp - torch.einsum("ij,ij->i", p, dp)[:, None])
    return (
        torch.einsum("ij,jd->id", ds, k),
        torch.einsum("ij,id->jd", ds, q),
        torch.einsum("ij,id->jd", p, do),
    )
