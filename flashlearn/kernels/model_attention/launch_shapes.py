"""Launch shapes of the variants' kernels: those of the plain ones, but where more values need registers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torch import Tensor

from flashlearn.kernels.described import block_d
from flashlearn.kernels.model_attention.options import Options
from flashlearn.kernels.shapes import Shape, backward_shapes, forward_shape
from flashlearn.machine import device

if TYPE_CHECKING:
    from flashlearn.kernels.model_attention.forward import Extras

__all__ = ["variant_backward_shapes", "variant_forward_shape"]

WIDE = 140 * device.KIB
"""Shared memory that a block of these kernels needs at most, in half precision with D of 256."""


def variant_forward_shape(q: Tensor, options: Options, extras: Extras) -> Shape:
    """The shape for the forward pass over queries like q [B, H, S, D]."""
    cut = forward_shape(q, options.right is not None)
    if _is_tight(q):
        return Shape(64, 32, 4, 1)
    if _is_half(q) and _is_heavy(options, extras):
        return replace(cut, block_k=64, stages=2, registers=None)
    if _is_half(q) and cut.registers == 160:  # the hooks need a few more, and three programs still fit
        return replace(cut, registers=168)
    return cut


def variant_backward_shapes(q: Tensor, options: Options, extras: Extras) -> tuple[Shape, Shape]:
    """The shapes of the kernel for dK and dV, and of the one for dQ."""
    dkv, dq = backward_shapes(q, options.right is not None)
    if _is_tight(q):
        return Shape(32, 32, 4, 1), Shape(32, 32, 4, 1)
    if _is_half(q) and _is_heavy(options, extras):
        return Shape(32, 64, 4, 2), Shape(64, 64 if block_d(q.shape[3]) <= 128 else 32, 4, 2)
    if _is_half(q) and dkv.block_q == 128:  # D of 64: no hook fits beside so many queries without spilling
        dkv = replace(dkv, block_q=64)
    if _is_half(q) and extras.slopes is not None and block_d(q.shape[3]) == 128:  # distances beside wide rows
        dkv, dq = Shape(32, 64, 4, 2), Shape(64, 32, 4, 3)
    return dkv, dq


def _is_half(q: Tensor) -> bool:
    return q.element_size() == 2


def _is_tight(q: Tensor) -> bool:
    """Whether rows are wide and a block has little shared memory, as on consumer cards."""
    return _is_half(q) and block_d(q.shape[3]) > 128 and device.shared_per_block() < WIDE


def _is_heavy(options: Options, extras: Extras) -> bool:
    """Whether hooks hold many values at once: Philox's words, or both terms of a score."""
    return extras.seed is not None or (options.softcap is not None and extras.slopes is not None)
