"""Tensors' memory before and after a call: copies for the call, changes, and which input owns a result."""

from __future__ import annotations

from typing import Any

import torch
from sympy.matrices.matrixbase import MatrixBase

from flashlearn.exercise import Inputs
from flashlearn.running.plain_data import is_tensor, misfit_kind


def copies(inputs: Inputs) -> Inputs:
    """Copies of the inputs for a call: tensors inside buffers of the same size, matrices and lists copied."""
    return {name: _copy(value) for name, value in inputs.items()}


def _copy(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if value.device.type == "meta":
            return value
        storage = value.untyped_storage().clone()  # a view stays a view of a larger buffer
        empty = torch.empty(0, dtype=value.dtype)
        return empty.set_(storage, value.storage_offset(), value.shape, value.stride())
    if isinstance(value, MatrixBase):
        return value.copy()
    if type(value) is list:
        return [_copy(part) for part in value]
    return {k: _copy(v) for k, v in value.items()} if type(value) is dict else value


def same(before: Any, after: Any) -> bool:
    """True if a value is bit for bit unchanged."""
    if not isinstance(before, torch.Tensor):
        return True
    return torch.equal(bits(before), bits(after))


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor's bit patterns as integers, so that NaN equals NaN."""
    whole = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.detach().contiguous().view(whole[tensor.element_size()])


def changed_inputs(inputs: Inputs, given: Inputs) -> tuple[str, ...]:
    """Names of the inputs that a launcher changed."""
    return tuple(name for name, value in inputs.items() if not same(value, given[name]))


def storages(given: Inputs) -> dict[int, str]:
    """Which input owns a storage."""
    return {
        t.untyped_storage()._cdata: name
        for name, t in given.items()
        if isinstance(t, torch.Tensor) and not misfit_kind(t)
    }


def storage_of(value: Any) -> int | None:
    """What identifies an ordinary tensor's memory; None for anything else."""
    if is_tensor(value) and not misfit_kind(value):
        return value.untyped_storage()._cdata
    return None
