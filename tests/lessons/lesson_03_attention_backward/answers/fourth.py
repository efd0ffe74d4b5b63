"""Answers to lesson 03 that passed when they were new: what they show is asked for now."""

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "attention_backward",
    "The row maximum of Q Kᵀ is subtracted before multiplying by alpha. For a negative alpha "
    "that is the smallest score, not the largest, and the exponentials overflow to inf / inf.",
    "not finite",
)(
    written(
        """
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
""",
        title="maximum taken before alpha",
    )
)
