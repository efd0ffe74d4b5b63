"""The fastest attention of this package: the tuned kernels, and for small problems those that start sooner.

    >>> q, k, v = (torch.randn(1, 8, 512, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    >>> o = fast_attention(q, k, v, causal=True)             # differentiable by q, k and v

Tensors are [B, H, S, D] of any strides, K and V may have fewer heads. A causal mask is aligned bottom-right.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from flashlearn.kernels.small_problems import is_short, short_backward, short_forward
from flashlearn.kernels.tuned_backward import tuned_backward
from flashlearn.kernels.tuned_forward import refuse_misfits, tuned_forward

__all__ = ["attention_by", "fast_attention", "fast_backward", "fast_forward", "scale_of"]


def fast_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> tuple[Tensor, Tensor]:
    """O and LSE as `tuned_forward` returns them."""
    refuse_misfits(q, k, v)
    if is_short(q, k):
        return short_forward(q, k, v, causal, scale_of(q, alpha))
    return tuned_forward(q, k, v, causal, alpha)


def fast_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool = False,
    alpha: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """dQ, dK and dV as `tuned_backward` returns them."""
    refuse_misfits(q, k, v)
    return _backward(q, k, v, o, do, lse, causal, alpha)


def _backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool, alpha: float | None
) -> tuple[Tensor, Tensor, Tensor]:
    if is_short(q, k):
        return short_backward(q, k, v, o, do, lse, causal, scale_of(q, alpha))
    return tuned_backward(q, k, v, o, do, lse, causal, alpha)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, alpha, ways):
        o, lse = ways[0](q, k, v, causal, alpha)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal, ctx.alpha, ctx.backward_way = causal, alpha, ways[1]
        return o

    @staticmethod
    @once_differentiable
    def backward(ctx, do):
        q, k, v, o, lse = ctx.saved_tensors
        return (*ctx.backward_way(q, k, v, o, do, lse, ctx.causal, ctx.alpha), None, None, None)


def fast_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V [B, H, S_q, D]; alpha is 1/√D unless given."""
    return attention_by((fast_forward, _backward), q, k, v, causal, alpha)


def attention_by(
    ways: tuple[Callable, Callable], q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float | None
) -> Tensor:
    """O, differentiable: by a forward pass that returns O and LSE, and its backward pass."""
    if not torch.is_grad_enabled():  # autograd takes longer than a short problem
        return ways[0](q, k, v, causal, alpha)[0]
    return _Attention.apply(q, k, v, causal, alpha, ways)


def scale_of(q: Tensor, alpha: float | None) -> float:
    """alpha, or 1/√D where none is given."""
    return 1 / math.sqrt(q.shape[3]) if alpha is None else alpha
