"""Triton's semantic for observed kernels, in words and at less cost.

What Triton's semantic asserts of descriptors without a word it says in words. Types, shapes and bindings that
Triton's language makes anew for every operation are made once: a block type and a tensor's shape are a dozen
Python objects each, which took a third of an observed launch. What is made here is what Triton itself would
have made; it is lent like the rest of the language.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import triton.language as tl
from triton.language import core
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

from flashlearn.interpreter.descriptors import misfit, row
from flashlearn.interpreter.errors import KernelCrash

UNPROMOTED = (tl.float32, tl.int32, tl.int64)
"""Of two operands of one of these types an operation is in this type, whichever it is."""


class ObservedSemantic(TritonSemantic):
    """Triton's semantic, which says in words what a descriptor and a tile must have in common."""

    def binary_op_type_checking_impl(self, lhs, rhs, *options, **named):
        """The same as Triton's; most operands are of one type, which nothing promotes."""
        if isinstance(lhs, tl.tensor) and isinstance(rhs, tl.tensor):
            kind = lhs.type.scalar
            if kind is rhs.type.scalar and any(kind is one for one in UNPROMOTED):
                return self.broadcast_impl_value(lhs, rhs)
        return super().binary_op_type_checking_impl(lhs, rhs, *options, **named)

    def broadcast_impl_value(self, lhs, rhs):
        """The same as Triton's; most operands need nothing, or a block of as many axes."""
        left, right = lhs.type, rhs.type
        if not (left.is_block() and right.is_block()):
            return (
                super().broadcast_impl_value(lhs, rhs) if left.is_block() or right.is_block() else (lhs, rhs)
            )
        have, want = left.shape.values, right.shape.values
        if have == want:
            return lhs, rhs
        sizes = [max(m, n) for m, n in zip(have, want, strict=False)]
        fits = [m in (1, n) or n == 1 for m, n in zip(have, want, strict=False)]
        if len(have) != len(want) or not all(fits):
            return super().broadcast_impl_value(lhs, rhs)
        return self._broadcast(lhs, sizes), self._broadcast(rhs, sizes)

    def _broadcast(self, value, sizes):
        if value.type.shape.values == sizes:
            return value
        kind = tl.block_type(value.type.scalar, sizes)
        return self.tensor(self.builder.create_broadcast(value.handle, sizes), kind)

    def make_tensor_descriptor(self, base, shape, strides, block_shape, *rest, **options):
        sizes = [tl.core._unwrap_if_constexpr(n) for n in block_shape]
        last = tl.core._unwrap_if_constexpr(strides[-1]) if len(strides) else 1
        last = int(last.handle.data.item()) if isinstance(last, tl.tensor) else last
        counts = len(shape), len(strides), len(sizes)
        bytes_each = base.dtype.element_ty.primitive_bitwidth // 8
        # what triton's own code would stop at, without saying why
        stand_ins = [16] * (counts[1] - 1) + [last]
        if sentence := misfit(0, bytes_each, [1] * counts[0], stand_ins, sizes):
            raise KernelCrash(sentence, self.builder.memory.place())
        return super().make_tensor_descriptor(base, shape, strides, block_shape, *rest, **options)

    def descriptor_load(self, desc, offsets, *rest):
        self._fits_offsets(desc, offsets)
        return super().descriptor_load(desc, offsets, *rest)

    def validate_store_like(self, desc, value, offsets):
        self._fits_offsets(desc, offsets)
        block = [int(n) for n in desc.block_shape]
        tile = [int(tl.core._unwrap_if_constexpr(n)) for n in getattr(value, "shape", ())]
        if tile != block:
            raise KernelCrash(
                f"The tile has shape {row(tile)}, but the descriptor's block is {row(block)}: a stored "
                f"tile has the block's shape, including its ones: "
                f"`tile.reshape({', '.join(map(str, block))})`.",
                self.builder.memory.place(),
            )

    def descriptor_atomic_add(self, desc, value, offsets):
        self._fits_dtype(desc, value)
        return super().descriptor_atomic_add(desc, value, offsets)

    def descriptor_atomic_min(self, desc, value, offsets):
        self._fits_dtype(desc, value)
        return super().descriptor_atomic_min(desc, value, offsets)

    def descriptor_atomic_max(self, desc, value, offsets):
        self._fits_dtype(desc, value)
        return super().descriptor_atomic_max(desc, value, offsets)

    def _has_native_tma(self) -> bool:
        return True  # as on the GPU that a launch is bound for

    def _fits_offsets(self, desc, offsets) -> None:
        rank = len(desc.block_shape)
        if len(offsets) != rank:
            raise KernelCrash(
                f"The descriptor has {rank} dimensions, but {len(offsets)} offsets are given: pass one for "
                f"each.",
                self.builder.memory.place(),
            )

    def _fits_dtype(self, desc, value) -> None:
        if value.dtype != desc.dtype:
            raise KernelCrash(
                f"The tile is {value.dtype}, but the descriptor's tensor is {desc.dtype}. A store converts "
                f"by itself; an atomic does not: `tile.to(tl.{desc.dtype.codegen_name()})`.",
                self.builder.memory.place(),
            )


# ---------------------------------------------------------------- types made once

_block_type, _tensor, _type_of_values = core.block_type, core.tensor, core._type_for_tuple_values
_make_block_type = _block_type.__init__


def type_substitutes() -> Iterator[tuple[Any, str, Callable]]:
    """For one launch: what stands where in Triton's language."""
    yield _block_type, "__init__", _remembering()
    yield _block_type, "with_element_ty", _element_exchanged()
    yield _block_type, "to_ir", lambda self, _builder: self  # the builder's types are the language's own
    yield _tensor, "__init__", _new_tensor
    yield core, "_type_for_tuple_values", _type_for_tuple_values


def builtin_binding(fill: Callable[[Any, dict[str, Any]], None]) -> Callable:
    """What gives builtins the semantic of the launch, as Triton's `_patch_builtin` does.

    `fill(owner, members)` puts many members in their places at once.
    """
    return lambda package, _builder, _scope: fill(package, _builtins(package))


@functools.cache
def _builtins(package: Any) -> dict[str, Callable]:
    return {name: _bound(member) for name, member in inspect.getmembers(package) if core.is_builtin(member)}


def _bound(member: Callable) -> Callable:
    inner = getattr(member, "__wrapped__", member)  # the wrapper only asks whether there is a semantic

    def bound(*args: Any, **kwargs: Any) -> Any:  # who explains an exception looks for these two names
        kwargs["_semantic"] = interpreter.interpreter_semantic
        return inner(*args, **kwargs)

    return bound


def _remembering() -> Callable:
    """A block type's `__init__`: of the same element type and sizes it takes what the first one found."""
    known: dict[tuple, dict[str, Any]] = {}

    def init(self: tl.block_type, element_ty: tl.dtype, shape: Any) -> None:
        sizes = _sizes(shape.values if isinstance(shape, core.tuple) else shape)
        if sizes is None or not isinstance(shape, (list, core.tuple)):
            _make_block_type(self, element_ty, shape)
            return
        found = known.get(key := (id(element_ty), sizes))
        if found is None:
            first = object.__new__(_block_type)
            _make_block_type(first, element_ty, shape)
            found = known[key] = vars(first)  # it holds the element type, whose id stays its own
        self.__dict__.update(found)

    return init


def _element_exchanged() -> Callable:
    """A block type's `with_element_ty`: no one changes a type, so the same one serves again."""
    known: dict[tuple, tl.block_type] = {}

    def with_element_ty(self: tl.block_type, scalar_ty: tl.dtype) -> tl.block_type:
        found = known.get(key := (id(scalar_ty), *self.shape.values))
        if found is None:
            found = known[key] = _block_type(scalar_ty, self.shape)
        return found

    return with_element_ty


def _new_tensor(self: tl.tensor, handle: Any, type: tl.dtype) -> None:
    self.handle, self.type, self.dtype = handle, type, type.scalar
    self.numel, self.shape = _extent(tuple(type.shape.values) if type.is_block() else ())


@functools.lru_cache(maxsize=4096)
def _extent(sizes: tuple[int, ...]) -> tuple[tl.constexpr, core.tuple]:
    """How many elements a tensor of these sizes has, and its shape."""
    numel = 1
    for n in sizes:
        numel *= n
    return tl.constexpr(numel), core.tuple([tl.constexpr(n) for n in sizes])


def _type_for_tuple_values(values: Any, fields: Any = None) -> core.tuple_type:
    sizes = _sizes(values) if fields is None else None
    return _type_of_values(values, fields) if sizes is None else _type_of_sizes(sizes)


@functools.lru_cache(maxsize=4096)
def _type_of_sizes(sizes: tuple[int, ...]) -> core.tuple_type:
    return _type_of_values(list(sizes))


def _sizes(values: Any) -> tuple[int, ...] | None:
    """The same as plain integers; None if they are something else."""
    sizes = []
    for value in values:
        size = value.value if type(value) is tl.constexpr else value
        if type(size) is not int:
            return None
        sizes.append(size)
    return tuple(sizes)
