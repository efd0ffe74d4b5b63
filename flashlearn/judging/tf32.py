"""Matrix products as a GPU's tensor cores compute them from fp32 tiles in TF32, emulated in plain torch.

    >>> with Tf32Products():
    ...     a @ b               # both operands keep 10 bits of mantissa, the sum is fp32

TF32 has fp32's range and half precision's mantissa (NVIDIA A100 white paper, 2020). Triton passes fp32
values to the tensor cores unchanged, and these ignore the lowest 13 bits.
"""

from __future__ import annotations

from typing import Any

from flashlearn.interpreter.dispatch_mode import LightDispatchMode
from flashlearn.later import torch

DROPPED = 13  # of fp32's 23 bits of mantissa
PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot"}


class Tf32Products(LightDispatchMode):
    """Within the block, fp32 operands of matrix products are truncated to TF32; nothing else changes."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket.__name__ in PRODUCTS:
            first = len(args) - 2  # addmm and its relatives: the summand comes before the factors
            args = tuple(_cut(value) if i >= first else value for i, value in enumerate(args))
        return func(*args, **(kwargs or {}))


def _cut(value: Any) -> Any:
    if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
        return value
    bits = value.contiguous().view(torch.int32) & -(1 << DROPPED)
    finite = torch.isfinite(value)
    return torch.where(finite, bits.view(torch.float32), value)
