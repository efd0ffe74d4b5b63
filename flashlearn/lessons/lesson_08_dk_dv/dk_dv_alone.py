"""What the kernels that compute dK and dV, and nothing else, are compared with."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from flashlearn.lessons.shared.backward_cases import Gradients

SIGNATURE = "(q, k, v, o, do, lse, alpha) -> (dk, dv)"


def only_dk_dv(gradients: Gradients, causal: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    """A reference that returns dK and dV, from one that returns all three gradients."""

    def dk_dv(
        q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float
    ) -> tuple[Tensor, Tensor]:
        return gradients(q, k, v, o, do, lse, alpha, causal)[1:]

    return dk_dv
