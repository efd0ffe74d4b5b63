"""Attention on a Hopper GPU: FlashAttention-3's kernels, and for short problems those that start sooner.

    >>> q, k, v = (torch.randn(1, 8, 4096, 128, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    >>> o = fa3_attention(q, k, v, causal=True)              # differentiable by q, k and v

Tensors are as `fa3_forward` takes them.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from flashlearn.kernels.fast_attention import attention_by, scale_of
from flashlearn.kernels.gluon.fa3_backward import fa3_backward
from flashlearn.kernels.gluon.fa3_forward import fa3_forward
from flashlearn.kernels.gluon.parts import refuse_unknown
from flashlearn.kernels.small_problems import is_short, short_backward, short_forward
from flashlearn.kernels.tuned_forward import refuse_misfits

__all__ = ["fa3_attention", "hopper_backward", "hopper_forward", "is_hopper"]


@functools.cache
def is_hopper() -> bool:
    """Whether the GPU here is one that these kernels are compiled for."""
    return torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)


def hopper_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> tuple[Tensor, Tensor]:
    """O and LSE as `fa3_forward` returns them."""
    refuse_misfits(q, k, v)
    refuse_unknown(q)
    if is_short(q, k):
        return short_forward(q, k, v, causal, scale_of(q, alpha))
    return fa3_forward(q, k, v, causal, alpha)


def hopper_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool = False,
    alpha: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """dQ, dK and dV as `fa3_backward` returns them."""
    refuse_misfits(q, k, v)
    refuse_unknown(q)
    if is_short(q, k):
        return short_backward(q, k, v, o, do, lse, causal, scale_of(q, alpha))
    return fa3_backward(q, k, v, o, do, lse, causal, alpha)


def fa3_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V [B, H, S_q, D]; alpha is 1/√D unless given."""
    return attention_by((hopper_forward, hopper_backward), q, k, v, causal, alpha)
