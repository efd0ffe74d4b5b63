"""Tensor descriptors, observed: blocks that keep to their tensor's shape by themselves.

    desc.load([b, h, start, 0])         # zeros where the block reaches beyond the shape
    desc.store([b, h, start, 0], tile)  # what lies beyond it is dropped

On a Hopper GPU the tensor memory accelerator (TMA) copies such a block, and it has rules of its own about
where rows may begin (CUDA Driver API, cuTensorMapEncodeTiled). `misfit` says them; triton's own interpreter
asserts some, without words, and lacks the atomics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir as _ir
from triton.runtime import _allocation
from triton.runtime.interpreter import TensorHandle

from flashlearn.interpreter.cautions import NO_ALLOCATOR
from flashlearn.interpreter.errors import KernelCrash

ALIGNED = 16
"""Bytes: where a described tensor and its rows may begin, and a block's last side at the least."""
MOST_SIDES = 5
ZERO = _ir.PADDING_OPTION.PAD_ZERO
ASKS_FOR_MEMORY = (
    "A Hopper GPU keeps the descriptors that a kernel makes in global memory, and Triton asks the launcher "
    "for it: without triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, "
    'device="cuda")) before the launch, this kernel is not launched there. Here no memory is needed.'
)


@dataclass(frozen=True)
class DescriptorHandle:
    """What a kernel's descriptor refers to: a pointer, a tensor's shape and strides, a block's shape."""

    base: TensorHandle
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]
    padding: Any

    @property
    def element(self) -> tl.dtype:
        """The type of an element."""
        return self.base.dtype.element_ty

    def block(self, offsets: Sequence[int]) -> tuple[TensorHandle, np.ndarray | None]:
        """The addresses of the block that begins at `offsets`, and which lie inside; None if all do."""
        size = self.element.primitive_bitwidth // 8
        rank, mask = len(self.shape), None
        reach = np.full((1,) * rank, self.base.data.item(), np.int64)
        for d, (first, count) in enumerate(zip(offsets, self.block_shape, strict=True)):
            along = (1,) * d + (count,) + (1,) * (rank - d - 1)
            index = np.arange(first, first + count, dtype=np.int64).reshape(along)
            reach = reach + index * (self.strides[d] * size)
            if first < 0 or first + count > self.shape[d]:
                inside = (index >= 0) & (index < self.shape[d])
                mask = inside if mask is None else mask & inside
        mask = None if mask is None else np.broadcast_to(mask, reach.shape)
        return TensorHandle(reach.view(np.uint64), self.base.dtype.scalar), mask


def misfit(
    address: int, size: int, shape: Sequence[int], strides: Sequence[int], block: Sequence[int]
) -> str:
    """Why memory cannot be described so, in elements of `size` bytes from `address` on; nothing if it can."""
    if not len(shape) == len(strides) == len(block):
        return (
            "A descriptor needs one stride and one block size per dimension; here the shape has "
            f"{len(shape)}, there are {len(strides)} strides, and the block has {len(block)} sizes."
        )
    if not 1 <= len(shape) <= MOST_SIDES:
        return f"A descriptor has one to {MOST_SIDES} dimensions, but {row(shape)} has {len(shape)}."
    return (
        _no_memory(shape) or _no_block(size, block) or _no_rows(size, strides) or _no_beginning(address, size)
    )


def _no_memory(shape: Sequence[int]) -> str:
    if min(shape) > 0:
        return ""
    return f"No descriptor can have the shape {row(shape)}: for an empty tensor, launch nothing."


def _no_block(size: int, block: Sequence[int]) -> str:
    odd = next((n for n in block if n < 1 or n & (n - 1)), None)
    if odd is not None:
        return f"The sizes of a descriptor's block must be powers of two, but {row(block)} has {odd}."
    if block[-1] * size < ALIGNED:
        return (
            f"A descriptor's block must hold at least {ALIGNED} bytes along its last dimension; {row(block)} "
            f"holds {block[-1]} elements of {size} bytes there: use at least {ALIGNED // size}."
        )
    return ""


def _no_rows(size: int, strides: Sequence[int]) -> str:
    if strides[-1] != 1:
        return (
            "The last dimension of a described tensor must have stride 1, but here its stride is "
            f"{strides[-1]}: make the tensor contiguous first, or load it through pointers."
        )
    odd = next((s for s in strides[:-1] if s * size % ALIGNED), None)
    if odd is None:
        return ""
    return (
        f"All strides of a described tensor but the last must be multiples of {ALIGNED} bytes; here one is "
        f"{odd} elements of {size} bytes, {odd * size}: pad the rows to multiples of {ALIGNED // size} "
        "elements, or load such tensors through pointers."
    )


def _no_beginning(address: int, size: int) -> str:
    if address % ALIGNED == 0:
        return ""
    return (
        f"A described tensor must begin at a multiple of {ALIGNED} bytes; this one begins "
        f"{address % ALIGNED} "
        f"bytes ({address % ALIGNED // size} elements) after one: copy it, or load it through pointers."
    )


def row(sizes: Sequence[int]) -> str:
    """Sizes as they are written in a kernel."""
    return f"[{', '.join(str(size) for size in sizes)}]"


class DescriptorOperations:
    """What an `ObservedBuilder` does with descriptors, on top of its own loads, stores and atomics."""

    def create_make_tensor_descriptor(
        self, base, shape, strides, block_shape, is_signed, padding=ZERO, *_rest
    ):
        sizes, steps = (tuple(int(x.data.item()) for x in values) for values in (shape, strides))
        block = tuple(map(int, block_shape))
        bytes_each = base.dtype.element_ty.primitive_bitwidth // 8
        if sentence := misfit(base.data.item(), bytes_each, sizes, steps, block):
            raise KernelCrash(sentence, self.memory.place())
        if self.memory.place() is not None and not _allocates():
            self.memory.cautions.add(NO_ALLOCATOR, ASKS_FOR_MEMORY, self.memory.place())
        return DescriptorHandle(base, sizes, steps, block, padding)

    def create_descriptor_load(self, described, offsets, *_rest):
        pointers, inside = self._block(described, offsets)
        other = np.nan if described.padding == _ir.PADDING_OPTION.PAD_NAN else 0
        with self.memory.following(descriptor=described):
            return self._load(pointers, inside, other)

    def create_descriptor_store(self, described, value, offsets):
        pointers, inside = self._block(described, offsets)
        with self.memory.following(descriptor=described):
            self.create_masked_store(pointers, value, inside, None, None)

    def create_descriptor_reduce(self, kind, described, value, offsets):
        pointers, inside = self._block(described, offsets)
        operation = getattr(_ir.ATOMIC_OP, kind.name)
        with self.memory.following(descriptor=described):
            self.create_atomic_rmw(operation, pointers, value, inside, _ir.MEM_SEMANTIC.RELAXED, None)

    def _block(self, described: DescriptorHandle, offsets: Sequence[TensorHandle]) -> tuple:
        first = [int(np.asarray(offset.data).item()) for offset in offsets]
        size = described.element.primitive_bitwidth // 8
        if first[-1] * size % ALIGNED:
            raise KernelCrash(
                f"A block of a descriptor must begin at a multiple of {ALIGNED} bytes along the last "
                f"dimension, {ALIGNED // size} elements here; this one begins at {first[-1]}.",
                self.memory.place(),
            )
        return described.block(first)


def _allocates() -> bool:
    """True if the launcher has said who gives memory to kernels that ask for it."""
    allocator = getattr(_allocation, "_allocator", None)
    kept = allocator.get() if hasattr(allocator, "get") else allocator
    return type(kept).__name__ != "NullAllocator"
