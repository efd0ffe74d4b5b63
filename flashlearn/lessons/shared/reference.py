"""The mathematics in plain torch: what every check compares with.

Each function has two callers. With fp64 tensors it is the oracle (its tests hold it against
autograd). With the learner's tensors it is a twin: the same formula at the same precision, whose own
error says how much rounding is no fault. Twins come in several spellings, since two right kernels may
round differently: softmax(s), exp(s − lse) with lse at hand, and powers of two.

    >>> softmax(torch.tensor([[0.0, float("-inf")]]))
    tensor([[1., 0.]])

Sums run over the last dimension, in fp32 at least; a result has its input's dtype. A row that holds
nothing but −inf has nothing to attend to: its probabilities are zero and so are its gradients, where
`torch.softmax` answers NaN.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = [
    "attention_delta",
    "attention_forward",
    "attention_forward_base2",
    "attention_forward_rounded",
    "attention_gradients",
    "attention_gradients_rounded",
    "attention_scores",
    "logsumexp",
    "softmax",
    "softmax_backward",
    "softmax_backward_expanded",
    "softmax_base2",
    "softmax_from_lse",
    "visible",
]

LOG2E = math.log2(math.e)


def _wide(x: Tensor) -> Tensor:
    """x in the precision that sums are carried in: fp64 stays fp64, all else becomes fp32."""
    return x if x.dtype == torch.float64 else x.float()


def _finite_max(x: Tensor) -> Tensor:
    """The maximum of each row, [..., 1]; 0 where the row is all −inf, since −inf − (−inf) is NaN."""
    m = x.amax(dim=-1, keepdim=True)
    return torch.where(m == -math.inf, torch.zeros_like(m), m)


def _divide(e: Tensor, total: Tensor) -> Tensor:
    """e / total, and 0 where the row's total is 0: an empty row has no probabilities."""
    return e / torch.where(total == 0, torch.ones_like(total), total)


def logsumexp(s: Tensor) -> Tensor:
    """log Σ_j exp(s_j) over the last dimension: [..., N] → [...], in fp32 or fp64; −inf for an empty row."""
    wide = _wide(s)
    m = _finite_max(wide)
    return (m + (wide - m).exp().sum(dim=-1, keepdim=True).log()).squeeze(-1)


def softmax(s: Tensor) -> Tensor:
    """p_j = exp(s_j − m) / Σ_l exp(s_l − m) with m = max s, over the last dimension: [..., N] → [..., N]."""
    wide = _wide(s)
    e = (wide - _finite_max(wide)).exp()
    return _divide(e, e.sum(dim=-1, keepdim=True)).to(s.dtype)


def softmax_from_lse(s: Tensor) -> Tensor:
    """p_j = exp(s_j − lse): one number per row, not two (FlashAttention-2, section 3.1)."""
    wide = _wide(s)
    lse = logsumexp(wide).unsqueeze(-1)
    empty = lse == -math.inf
    return torch.where(empty, 0.0, (wide - torch.where(empty, 0.0, lse)).exp()).to(s.dtype)


def softmax_base2(s: Tensor) -> Tensor:
    """softmax(s) with 2^(s log2 e) for e^x, as tuned kernels do: the hardware's exponential has base 2."""
    wide = _wide(s) * LOG2E
    e = (wide - _finite_max(wide)).exp2()
    return _divide(e, e.sum(dim=-1, keepdim=True)).to(s.dtype)


def softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    """ds = p ∘ (dp − ⟨p, dp⟩), row by row: [..., N], [..., N] → [..., N].

    p is softmax's output and dp the loss's derivative by it. Read: ds_j = p_j (dp_j − E_p[dp]).
    """
    wide_p, wide_dp = _wide(p), _wide(dp)
    inner = (wide_p * wide_dp).sum(dim=-1, keepdim=True)
    return (wide_p * (wide_dp - inner)).to(p.dtype)


def softmax_backward_expanded(p: Tensor, dp: Tensor) -> Tensor:
    """The same with the bracket multiplied out, which rounds differently: ds = p ∘ dp − p ⟨p, dp⟩."""
    p_dp = _wide(p) * _wide(dp)
    return (p_dp - _wide(p) * p_dp.sum(dim=-1, keepdim=True)).to(p.dtype)


# ---------------------------------------------------------------- attention


def visible(S_q: int, S_k: int, causal: bool, device: torch.device | str = "cpu") -> Tensor:
    """Which keys a query may attend to, [S_q, S_k]: all, or, causal, those not after it.

    Causal masks are aligned bottom-right, as FlashAttention's from 2.1 on: the last query sees every
    key. With S_q > S_k the first S_q − S_k queries see none.
    """
    keep = torch.ones(S_q, S_k, dtype=torch.bool, device=device)
    return keep.tril(S_k - S_q) if causal else keep


def attention_scores(q: Tensor, k: Tensor, alpha: float, causal: bool = False) -> Tensor:
    """S = alpha Q Kᵀ in fp32 or fp64, −inf where the mask hides a key: [..., S_q, S_k]."""
    s = alpha * (_wide(q) @ _wide(k).mT)
    return s.masked_fill(~visible(q.shape[-2], k.shape[-2], causal, q.device), -math.inf)


def attention_forward(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False
) -> tuple[Tensor, Tensor]:
    """O = softmax(alpha Q Kᵀ) V in q's dtype, and LSE [..., S_q] in fp32 (fp64 for fp64 inputs).

    A query that sees no key has O = 0 and LSE = −inf, the identity of merging.
    """
    s = attention_scores(q, k, alpha, causal)
    return (softmax(s) @ _wide(v)).to(q.dtype), logsumexp(s)


def attention_forward_rounded(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False
) -> tuple[Tensor, Tensor]:
    """The same as kernels do it: unnormalised P = exp(S − m) rounded to v's dtype before it meets V."""
    s = attention_scores(q, k, alpha, causal)
    e = (s - _finite_max(s)).exp()
    acc = _wide(e.to(v.dtype)) @ _wide(v)
    return _divide(acc, e.sum(dim=-1, keepdim=True)).to(q.dtype), logsumexp(s)


def attention_forward_base2(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False
) -> tuple[Tensor, Tensor]:
    """The same in powers of two, P normalised and rounded to v's dtype."""
    s = attention_scores(q, k, alpha, causal)
    return (_wide(softmax_base2(s).to(v.dtype)) @ _wide(v)).to(q.dtype), logsumexp(s)


def attention_delta(o: Tensor, do: Tensor) -> Tensor:
    """delta_i = Σ_d dO_id O_id, [..., S_q] in fp32 or fp64 (FlashAttention-2, section 3.1)."""
    return (_wide(o) * _wide(do)).sum(dim=-1)


def attention_gradients(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float, causal: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) from what the forward pass saved, each in its input's dtype.

    P = exp(S − LSE), dV = Pᵀ dO, dP = dO Vᵀ, dS = P ∘ (dP − delta), dQ = alpha dS K, dK = alpha dSᵀ Q.
    """
    return _gradients(q, k, v, o, do, lse, alpha, causal, lambda p: p)


def attention_gradients_rounded(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float, causal: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The same as kernels do it: P and dS rounded to the inputs' dtype before the products that use them."""
    return _gradients(q, k, v, o, do, lse, alpha, causal, lambda p: _wide(p.to(q.dtype)))


def _gradients(q, k, v, o, do, lse, alpha, causal, rounded) -> tuple[Tensor, Tensor, Tensor]:
    s = attention_scores(q, k, alpha, causal)
    lse = _wide(lse).unsqueeze(-1)
    p = torch.where(lse == -math.inf, 0.0, (s - torch.where(lse == -math.inf, 0.0, lse)).exp())
    dv = rounded(p).mT @ _wide(do)
    dp = _wide(do) @ _wide(v).mT
    ds = rounded(p * (dp - attention_delta(o, do).unsqueeze(-1)))
    return (alpha * ds @ _wide(k)).to(q.dtype), (alpha * ds.mT @ _wide(q)).to(k.dtype), dv.to(v.dtype)
