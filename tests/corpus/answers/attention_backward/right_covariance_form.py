# label: right
# title: covariance form

from torch import Tensor


def attention_backward(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    s = torch.einsum("id,jd->ij", q, k) * alpha
    p = (s - s.logsumexp(1, keepdim=True)).exp()
    dp = torch.einsum("id,jd->ij", do, v)
    centred = dp - torch.einsum("ij,ij->i", p, dp)[:, None]
    ds = alpha * p * centred
    return torch.einsum("ij,jd->id", ds, k), torch.einsum("ij,id->jd", ds, q), torch.einsum("ij,id->jd", p, do)
