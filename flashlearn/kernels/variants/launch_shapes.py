"""Launch shapes of the variants' kernels: those of the plain ones, but where more values need registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from flashlearn.kernels.shapes import Shape, backward_shapes, forward_shape
from flashlearn.kernels.variants.options import Options

if TYPE_CHECKING:
    from flashlearn.kernels.variants.forward import Extras

__all__ = ["variant_backward_shapes", "variant_forward_shape"]


def variant_forward_shape(q: Tensor, options: Options, extras: Extras) -> Shape:
    """The shape for the forward pass over queries like q [B, H, S, D]."""
    return forward_shape(q, options.right is not None)


def variant_backward_shapes(q: Tensor, options: Options, extras: Extras) -> tuple[Shape, Shape]:
    """The shapes of the kernel for dK and dV, and of the one for dQ."""
    return backward_shapes(q, options.right is not None)
