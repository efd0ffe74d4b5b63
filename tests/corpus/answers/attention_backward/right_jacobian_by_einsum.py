# label: right
# title: jacobian by einsum

from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    p = torch.softmax(alpha * (q @ k.T), dim=-1)
    jacobian = torch.diag_embed(p) - torch.einsum("ij,ik->ijk", p, p)
    dp = torch.einsum("id,jd->ij", do, v)
    ds = torch.einsum("ijk,ik->ij", jacobian, dp)
    dq = alpha * torch.einsum("ij,jd->id", ds, k)
    dk = alpha * torch.einsum("ij,id->jd", ds, q)
    dv = torch.einsum("ij,id->jd", p, do)
    return dq, dk, dv
