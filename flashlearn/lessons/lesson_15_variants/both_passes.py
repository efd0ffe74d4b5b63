"""What exercises that run both passes share: least work, the peers' passes, and sums in parts.

Each is `(q, k, v, do, …) -> (o, lse, dq, dk, dv, …)`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.exercise import Inputs, Work

PRODUCTS = 7
"""Two of the forward pass, five of the backward."""


def work_of(inputs: Inputs, pairs: float) -> Work:
    """Seven products over `pairs` of query and key; each tensor is read or written once."""
    q, k = inputs["q"], inputs["k"]
    tensors = 3 * q.numel() + 4 * k.numel()  # Q, dO, O or dQ; K, V, dK, dV
    moved = (tensors + q.numel()) * q.element_size() + 4.0 * q.numel() / q.shape[-1]
    return Work(2.0 * PRODUCTS * pairs * q.shape[-1], moved)


def both(attend: Callable[..., Tensor], do: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    """O of `attend(*inputs)` and its gradients, by autograd: what a peer is timed by."""
    leaves = [t.detach().requires_grad_() for t in inputs]
    with torch.enable_grad():
        o = attend(*leaves)
    return o.detach(), *torch.autograd.grad(o, leaves, do)
