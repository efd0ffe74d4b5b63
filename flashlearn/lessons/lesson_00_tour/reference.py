"""What is right in lesson 00, in plain torch, and further spellings of it."""

from __future__ import annotations

import functools

import torch
from torch import Tensor


def ids(x: Tensor, block: int) -> Tensor:
    return (torch.arange(x.numel(), device=x.device) // block).to(torch.int32)


def row_sum(x: Tensor) -> Tensor:
    wide = x if x.dtype == torch.float64 else x.float()
    return wide.sum(dim=1).to(x.dtype)


def row_sum_by_halves(x: Tensor) -> Tensor:
    """The same sum in another order: even and odd columns apart, then together."""
    wide = x if x.dtype == torch.float64 else x.float()
    return (wide[:, ::2].sum(dim=1) + wide[:, 1::2].sum(dim=1)).to(x.dtype)


def row_sum_in_order(x: Tensor) -> Tensor:
    """The same sum one column after the other, as a loop over a row adds it."""
    wide = x if x.dtype == torch.float64 else x.float()
    return functools.reduce(torch.add, wide.unbind(dim=1)).to(x.dtype)


def row_sum_from_the_end(x: Tensor) -> Tensor:
    """The same sum from the last column to the first, as a reversed running sum adds it."""
    return row_sum_in_order(x.flip(1))


def row_sum_by_sign(x: Tensor) -> Tensor:
    """The same sum as that of the positive elements and that of the negative ones, each in fp32."""
    wide = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32)
    return (wide.clamp(min=0).sum(1) + wide.clamp(max=0).sum(1)).to(x.dtype)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    wide = x.dtype if x.dtype == torch.float64 else torch.float32
    return (a * x.to(wide) + y.to(wide)).to(x.dtype)
