"""GPU memory with guard zones, which show whether a kernel wrote outside it or did not write it at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_map

from flashlearn.exercise import Inputs
from flashlearn.interpreter.launcher_watch import LauncherWatch, fill_poison
from flashlearn.machine import device, memory
from flashlearn.running.values import bits, misfit_kind

GUARD_BYTES = 4096  # elements on each side of a buffer
PATTERN = 0xA5


@dataclass(frozen=True)
class Request:
    """What a launcher asked of torch when the GPU's memory was too small: sizes, and bytes in all.

    `shape` and `dtype` are those of the tensor that was to be made, empty if that cannot be told; `free` are
    the bytes that this process could still take.
    """

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    held: int
    free: int = 0

    @classmethod
    def of(cls, func: Any, args: tuple, kwargs: dict[str, Any], held: int) -> Request:
        """The request of one operation of torch's, by a launcher that holds so many bytes."""
        plan, free = without_memory(func, args, kwargs), memory.free_memory() if device.has_gpu() else 0
        if plan is None:
            return cls((), "", 0, held, free)
        return cls(tuple(plan.shape), str(plan.dtype).removeprefix("torch."), plan.nbytes, held, free)


class GuardedWatch(LauncherWatch):
    """Puts guard zones around everything the launcher allocates empty on the GPU."""

    def __init__(self) -> None:
        super().__init__(memory=None)
        self.buffers: list[tuple[str, torch.Tensor, int, int]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        try:
            return super().__torch_dispatch__(func, types, args, kwargs)
        except RuntimeError as error:
            if memory.is_out_of_memory(error) and not hasattr(error, "request"):
                error.request = Request.of(func, args, kwargs or {}, self._taken())
            raise

    def allocate(self, func, args, kwargs) -> torch.Tensor:
        plan = without_memory(func, args, kwargs)
        if plan is not None and plan.numel() and _on_gpu(args, kwargs):
            return self.guard(plan, "an output")
        out = func(*args, **kwargs)
        return self.guard(out, "an output") if out.device.type == "cuda" and out.numel() else out

    def _taken(self) -> int:
        """Bytes of what the launcher has allocated empty so far."""
        return sum(whole.nbytes for name, whole, *_ in self.buffers if name == "an output")

    def guard(self, tensor: torch.Tensor, name: str) -> torch.Tensor:
        """A tensor of the same shape and strides in the middle of a larger, patterned buffer."""
        span, size = _span(tensor), tensor.element_size()
        whole = torch.full(((span + 2 * GUARD_BYTES) * size,), PATTERN, dtype=torch.uint8, device="cuda")
        self.buffers.append((name, whole, GUARD_BYTES * size, (GUARD_BYTES + span) * size))
        return whole.view(tensor.dtype).as_strided(tensor.shape, tensor.stride(), GUARD_BYTES)

    def copy(self, tensor: torch.Tensor, name: str) -> torch.Tensor:
        """A guarded copy that keeps the strides, also where elements share memory (stride 0)."""
        guarded = self.guard(tensor, name)
        there = guarded.as_strided((_span(tensor),), (1,), guarded.storage_offset())
        there.copy_(tensor.as_strided((_span(tensor),), (1,), tensor.storage_offset()))
        return guarded

    def written(self, out: Any) -> dict[str, torch.Tensor]:
        """Which elements still have the fill value of torch.empty's memory: −1 if never written, else 0.

        NaN computed by a GPU differ in their bits from the fill value.
        """
        ordinary = isinstance(out, torch.Tensor) and not misfit_kind(out) and out.dtype != torch.bool
        if not ordinary or not out.numel() or not self._owns(out):
            return {}
        filler = torch.empty(1, dtype=out.dtype, device=out.device)
        fill_poison(filler)
        untouched = bits(out) == bits(filler)
        return {"writers": -untouched.long().cpu()} if bool(untouched.any()) else {}

    def trespass(self) -> str:
        """A sentence if a guard zone was written, else nothing."""
        for name, whole, low, high in self.buffers:
            before = int((whole[:low] != PATTERN).sum())
            after = int((whole[high:] != PATTERN).sum())
            if before or after:
                side = "before the start" if before else "past the end"
                return f"Compiled, the kernel wrote {before + after} bytes {side} of {name}."
        return ""

    def _owns(self, tensor: torch.Tensor) -> bool:
        """True if the tensor lies in memory that was allocated here."""
        key = tensor.untyped_storage()._cdata
        return any(whole.untyped_storage()._cdata == key for _, whole, _, _ in self.buffers)


class ZeroedWatch(GuardedWatch):
    """For a rehearsal: memory that no kernel fills holds zeros, which are valid indices."""

    def poison(self, out: torch.Tensor) -> None:
        out.zero_()


def without_memory(func: Any, args: tuple, kwargs: dict[str, Any]) -> torch.Tensor | None:
    """What an operation gives, on "meta", where it has sizes and no memory; None if that cannot be told."""
    try:
        args, kwargs = tree_map(_meta, (args, kwargs))
        if any(argument.name == "device" for argument in func._schema.arguments):
            kwargs = {**kwargs, "device": "meta", "pin_memory": None}
        out = func(*args, **kwargs)
    except Exception:  # an operation that needs numbers
        return None
    return out if isinstance(out, torch.Tensor) else None


def _meta(value: Any) -> Any:
    return value.to("meta") if isinstance(value, torch.Tensor) else value


def _on_gpu(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether an operation that makes a tensor makes it on a GPU."""
    where = kwargs.get("device")
    if where is None:
        where = next((value.device for value in args if isinstance(value, torch.Tensor)), "cpu")
    return torch.device(where).type == "cuda"


def guarded(inputs: Inputs, watch: GuardedWatch) -> Inputs:
    """Guarded copies of the tensors among the inputs."""
    given = {}
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.numel():
            value = watch.copy(value, f"the input {name}")
        given[name] = value
    return given


def _span(tensor: torch.Tensor) -> int:
    """Elements from the first to the last that a tensor reaches, gaps included."""
    return 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
