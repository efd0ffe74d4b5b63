"""Torch's own attention, one way of computing it at a time: what kernels are compared with.

    >>> o = by_backend(SDPBackend.CUDNN_ATTENTION)(q, k, v, causal=True, alpha=0.125)
    >>> backward = gradients(eager, q, k, v, do, causal=True, alpha=0.125)     # the forward pass runs here
    >>> dq, dk, dv = backward()                                                # and what is timed here

Tensors are [B, H, S, D]. Torch aligns causal masks top-left, which is the same for S_q = S_k alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

__all__ = ["Attend", "by_backend", "eager", "flexible", "gradients"]

Attend = Callable[[Tensor, Tensor, Tensor, bool, float], Tensor]
"""(q, k, v, causal, alpha) → o."""


def eager(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
    """The formula as it stands; S and P are stored."""
    s = alpha * (q @ k.mT)
    if causal:
        hidden = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(1)
        s = s.masked_fill(hidden, float("-inf"))
    return torch.softmax(s, dim=-1) @ v


def by_backend(backend: SDPBackend | None) -> Attend:
    """scaled_dot_product_attention by one of its backends, or by the one that it chooses.

    The call raises RuntimeError where this GPU, or this torch, does not have the backend.
    """

    def attend(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        if backend is None:
            return scaled_dot_product_attention(q, k, v, is_causal=causal, scale=alpha)
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, is_causal=causal, scale=alpha)

    return attend


def flexible(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
    """FlexAttention, compiled; a causal mask leaves out hidden blocks."""
    compiled, mask = _flex(), _causal_blocks(q.shape[2], q.device) if causal else None
    return compiled(q, k, v, block_mask=mask, scale=alpha)


def gradients(
    attend: Attend, q: Tensor, k: Tensor, v: Tensor, do: Tensor, causal: bool, alpha: float
) -> Callable[[], tuple[Tensor, ...]]:
    """A call that computes dQ, dK and dV from a forward pass that has run: it can be made again and again."""
    leaves = [t.detach().requires_grad_() for t in (q, k, v)]
    with torch.enable_grad():
        o = attend(*leaves, causal, alpha)
    return lambda: torch.autograd.grad(o, leaves, do, retain_graph=True)


@functools.cache
def _flex() -> Callable[..., Tensor]:
    import torch._dynamo
    from torch.nn.attention.flex_attention import flex_attention

    torch._dynamo.config.cache_size_limit = 64  # a version for each shape of a table
    return torch.compile(flex_attention, dynamic=False)


@functools.cache
def _causal_blocks(length: int, device: torch.device) -> Any:
    from torch.nn.attention.flex_attention import create_block_mask

    return create_block_mask(
        lambda b, h, row, column: column <= row, None, None, length, length, device=str(device)
    )
