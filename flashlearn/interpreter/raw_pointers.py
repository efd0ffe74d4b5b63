"""Pointers kept in tensors: `x.data_ptr()` in the launcher, and in the kernel a number made a pointer again.

A tensor whose address was asked for may be used by the next launches. In a kernel its address is
another one, as all addresses there; `Kept.virtual` exchanges them.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

DESCRIBED = TensorDescriptor.__post_init__.__code__
"""Looks at a tensor's address, and keeps none."""
NAME = "a tensor kept as a pointer"


@dataclass
class RawPointers:
    """The tensors whose addresses were asked for, each view once."""

    tensors: dict[tuple, torch.Tensor] = field(default_factory=dict)

    def note(self, tensor: torch.Tensor) -> None:
        """This tensor's address was asked for."""
        if tensor.device.type == "cpu" and tensor.layout is torch.strided and tensor.numel():
            key = (tensor.untyped_storage()._cdata, tensor.storage_offset(), tensor.shape, tensor.stride())
            self.tensors[key] = tensor

    def virtual(self, addresses: np.ndarray, base_of: Callable[[torch.Tensor], int]) -> np.ndarray:
        """Addresses in which those of real memory are exchanged for the kernel's; `base_of` a storage."""
        out = addresses
        for tensor in self.tensors.values():
            storage = tensor.untyped_storage()
            first = np.uint64(storage.data_ptr())
            inside = (addresses >= first) & (addresses < first + np.uint64(storage.nbytes()))
            if inside.any():
                out = np.where(inside, addresses - first + np.uint64(base_of(tensor)), out)
        return out


@contextlib.contextmanager
def noted(kept: RawPointers, launching: Callable[[], bool]) -> Iterator[None]:
    """Note the tensors that are asked for their addresses inside the block, but not by a launch itself."""
    own = torch.Tensor.__dict__.get("data_ptr")
    asked = torch.Tensor.data_ptr

    def data_ptr(tensor: torch.Tensor) -> int:
        if not launching() and sys._getframe(1).f_code is not DESCRIBED:
            kept.note(tensor)
        return asked(tensor)

    torch.Tensor.data_ptr = data_ptr
    try:
        yield
    finally:
        if own is None:
            del torch.Tensor.data_ptr
        else:
            torch.Tensor.data_ptr = own
