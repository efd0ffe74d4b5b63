"""Values of a call: copies of its inputs and what changed in them; what it returned, as plain data.

    >>> plain((out, 3)), plain(open("notes"))
    ((tensor([…]), 3), Foreign(type='TextIOWrapper', …))

Plain data can be kept, pickled and sent. Tensors keep their numbers, dtype and strides, and get memory of
their own on the CPU. What is no data (a generator, a function, a sparse tensor) becomes a `Foreign`, which
knows what can be said of it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import sympy as sp
from sympy.core.function import FunctionClass
from sympy.matrices.matrixbase import MatrixBase
from sympy.tensor.array.ndim_array import NDimArray

from flashlearn.exercise import Inputs
from flashlearn.later import numpy as np
from flashlearn.later import torch, types_of
from flashlearn.running.evidence import Foreign

NUMBERS = (bool, int, float, complex, str, bytes, type(None), Fraction)
SYMBOLIC = (sp.Basic, MatrixBase, NDimArray, sp.Poly)
DEEPEST = 8
MOST = 10_000


def plain(value: Any, depth: int = 0) -> Any:
    """The value as data; parts that are none as `Foreign`."""
    try:
        return _plain(value, depth)
    except Exception:  # a learner's object may raise whenever it is looked at
        return Foreign(type(value).__name__, "", f"<{type(value).__name__}>")


def _plain(value: Any, depth: int) -> Any:
    kind = type(value)
    if is_tensor(value):
        return _tensor(value)
    symbolic = issubclass(kind, SYMBOLIC) and not issubclass(kind, FunctionClass)
    if symbolic or kind in NUMBERS or kind in types_of("torch", "dtype"):
        return value
    if issubclass(kind, types_of("numpy", "ndarray", "generic")) and value.dtype.kind in "biufc":
        return np.array(value) if issubclass(kind, np.ndarray) else value
    if depth < DEEPEST:
        if kind in (tuple, list, set, frozenset) and len(value) <= MOST:
            return kind(_hashable(kind, plain(part, depth + 1)) for part in value)
        if kind is dict and len(value) <= MOST:
            return {plain(k, depth + 1): plain(v, depth + 1) for k, v in value.items()}
        if _is_record(value):
            return _record(value, depth)
    return foreign(value)


def is_tensor(value: Any) -> bool:
    """True for a tensor by its type; `isinstance` believes what a learner's `__class__` claims."""
    return issubclass(type(value), types_of("torch", "Tensor"))


def foreign(value: Any) -> Foreign:
    """What can be said of something that is no data."""
    return Foreign(
        type=type(value).__name__,
        module=str(getattr(type(value), "__module__", "") or ""),
        text=_text(value),
        name=str(_looked_up(value, "__name__") or ""),
        shape=_shape(value),
        calls=_calls(value),
        iterates=issubclass(type(value), Iterator | set | frozenset),
    )


def _looked_up(value: Any, name: str) -> Any:
    """An attribute of a learner's object; None if it has none, or does not give it."""
    try:
        return getattr(value, name, None)
    except Exception:  # a learner's property may raise anything, and so may a nested tensor's shape
        return None


def _shape(value: Any) -> tuple[int, ...] | None:
    shape = _looked_up(value, "shape")
    whole = isinstance(shape, tuple) and all(isinstance(n, int) for n in shape)
    return tuple(map(int, shape)) if whole else None


def misfit_kind(tensor: torch.Tensor) -> str:
    """What is out of the ordinary about a tensor that cannot be compared; nothing if it can."""
    if tensor.is_nested:
        return "a nested tensor"
    if tensor.layout is not torch.strided:
        return "a sparse tensor"
    return "" if tensor.device.type in ("cpu", "cuda") else f"a tensor on the device {tensor.device}"


def as_tuple(outputs: Any) -> tuple:
    """A single output as a tuple of one."""
    return tuple(outputs) if issubclass(type(outputs), tuple | list) else (outputs,)


def _tensor(tensor: torch.Tensor) -> torch.Tensor | Foreign:
    if kind := misfit_kind(tensor):
        return dataclasses.replace(foreign(tensor), text=kind)
    with torch.no_grad():
        tensor = torch.Tensor.detach(tensor).as_subclass(torch.Tensor)
        if tensor.device.type != "cpu":
            return tensor.cpu()
        if tensor.is_conj() or tensor.is_neg():
            return tensor.clone()
        span = _span(tensor)
        whole = tensor.as_strided((span,), (1,), tensor.storage_offset()).clone()
        return whole.as_strided(tensor.shape, tensor.stride(), 0)


def _span(tensor: torch.Tensor) -> int:
    """Elements from the first to the last that a tensor reaches, gaps included."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))


def _hashable(kind: type, part: Any) -> Any:
    if kind not in (set, frozenset):
        return part
    try:
        hash(part)
    except TypeError:
        return repr(part)
    return part


def _is_record(value: Any) -> bool:
    """True for instances of the package's own dataclasses and named tuples: trials, sizes, GPUs."""
    ours = type(value).__module__.startswith("flashlearn.")
    return ours and (dataclasses.is_dataclass(value) or hasattr(type(value), "_fields"))


def _record(value: Any, depth: int) -> Any:
    if hasattr(type(value), "_fields"):
        return type(value)(*(plain(part, depth + 1) for part in tuple.__iter__(value)))
    fields = {f.name: plain(getattr(value, f.name), depth + 1) for f in dataclasses.fields(value) if f.init}
    return type(value)(**fields)


def _text(value: Any) -> str:
    try:
        return repr(value)[:200]
    except Exception:  # a learner's __repr__ may be anything
        return f"<{type(value).__name__}>"


def _calls(value: Any) -> str:
    if issubclass(type(value), type) and not issubclass(type(value), FunctionClass):
        return "class"
    if not callable(value):
        return ""
    routine = _truly_routine(value) or issubclass(type(value), FunctionClass)
    return "routine" if routine else "object"


def _truly_routine(value: Any) -> bool:
    try:
        return inspect.isroutine(value)
    except Exception:  # a learner's __class__ may raise
        return False


def copies(inputs: Inputs) -> Inputs:
    """Copies of the inputs for a call: tensors inside buffers of the same size, matrices and lists copied."""
    return {name: _copied(value) for name, value in inputs.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, types_of("torch", "Tensor")):
        if value.device.type == "meta":
            return value
        storage = value.untyped_storage().clone()  # a view stays a view of a larger buffer
        empty = torch.empty(0, dtype=value.dtype)
        return empty.set_(storage, value.storage_offset(), value.shape, value.stride())
    if isinstance(value, MatrixBase):
        return value.copy()
    if type(value) is list:
        return [_copied(part) for part in value]
    return {k: _copied(v) for k, v in value.items()} if type(value) is dict else value


def same(before: Any, after: Any) -> bool:
    """True if a value is bit for bit unchanged."""
    if not isinstance(before, types_of("torch", "Tensor")):
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
