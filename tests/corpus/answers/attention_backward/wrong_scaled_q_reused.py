# label: wrong
# title: scaled q reused
# says: `q = q * alpha` scales q once and for all, and the line for dk multiplies by alpha again, so dK comes
#   out with alpha squared
# names: alpha applied twice

from torch import Tensor


def attention_backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) of O = softmax(alpha Q Kᵀ) V, given dO: matrices [S, D]."""
    q = q * alpha  # cheaper than scaling S_q x S_k scores
    attn = (q @ k.mT).softmax(dim=-1)
    out = attn @ v

    dv = attn.mT @ do
    d_attn = do @ v.mT
    delta = (out * do).sum(dim=-1, keepdim=True)
    d_scores = attn * (d_attn - delta)
    dq = alpha * (d_scores @ k)
    dk = alpha * (d_scores.mT @ q)
    return dq, dk, dv
