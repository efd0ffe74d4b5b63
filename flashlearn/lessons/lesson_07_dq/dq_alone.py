"""What the kernels that compute dQ, and nothing else, are compared with."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from flashlearn.lessons.shared.backward_cases import Gradients

SIGNATURE = "(q, k, v, o, do, lse, alpha) -> dq"


def only_dq(gradients: Gradients, causal: bool) -> Callable[..., Tensor]:
    """A reference that returns dQ alone, from one that returns all three gradients."""

    def dq(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float) -> Tensor:
        return gradients(q, k, v, o, do, lse, alpha, causal)[0]

    return dq
