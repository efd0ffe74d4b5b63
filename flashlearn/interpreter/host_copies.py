"""CPU copies of a launch's GPU tensors, and the tensors among its arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor
from triton.runtime.jit import TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor


class HostCopies:
    """One copy for each storage, so that views stay views."""

    def __init__(self) -> None:
        self.copies: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def fetch(self, value: Any) -> Any:
        """An argument with the copies in place of its GPU tensors."""
        if isinstance(value, TensorDescriptor | GluonDescriptor):
            return replace(value, base=self.fetch(value.base))
        if isinstance(value, tuple):
            parts = [self.fetch(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if not isinstance(value, torch.Tensor) or value.device.type in ("cpu", "meta"):
            return value
        storage = value.untyped_storage()
        _, copy = self.copies.setdefault(storage.data_ptr(), (storage, storage.cpu()))
        empty = torch.empty(0, dtype=value.dtype)
        return empty.set_(copy, value.storage_offset(), value.shape, value.stride())

    def write_back(self) -> None:
        """Give the GPU what the kernel stored."""
        for device, copy in self.copies.values():
            device.copy_(copy)


def tensors_in(name: str, value: Any) -> list[tuple[str, torch.Tensor]]:
    """The tensors in an argument, with their names."""
    if isinstance(value, TensorWrapper):
        return [(name, value.base)]
    if isinstance(value, TensorDescriptor | GluonDescriptor):
        return tensors_in(name, value.base)
    if isinstance(value, torch.Tensor):
        return [(name, value)]
    if isinstance(value, tuple):
        return [pair for i, part in enumerate(value) for pair in tensors_in(f"{name}[{i}]", part)]
    return []
