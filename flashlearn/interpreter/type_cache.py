"""Types, shapes and bindings that Triton's language makes anew for every operation, made once.

A block type and a tensor's shape are a dozen Python objects each, which took a third of an observed launch.
What is made here is what Triton itself would have made; it is lent like the rest of the language.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import triton.language as tl
from triton.language import core
from triton.runtime import interpreter

_block_type, _tensor, _type_of_values = core.block_type, core.tensor, core._type_for_tuple_values
_make_block_type = _block_type.__init__


def substitutes() -> Iterator[tuple[Any, str, Callable]]:
    """For one launch: what stands where in Triton's language."""
    yield _block_type, "__init__", _remembering()
    yield _block_type, "with_element_ty", _element_exchanged()
    yield _block_type, "to_ir", lambda self, _builder: self  # the builder's types are the language's own
    yield _tensor, "__init__", _new_tensor
    yield core, "_type_for_tuple_values", _type_for_tuple_values


def binding(fill: Callable[[Any, dict[str, Any]], None]) -> Callable:
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
