"""Triton's language, lent to the observed interpreter for the length of one launch."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle
from triton.runtime.jit import JITFunction

from flashlearn.interpreter import libdevice, missing_ops
from flashlearn.interpreter.builder import ObservedBuilder
from flashlearn.interpreter.low_precision import FLOATS, numpy_dtype
from flashlearn.interpreter.semantic import ObservedSemantic, builtin_binding, type_substitutes


def scalar(value: int | float | bool, dtype: tl.dtype) -> tl.tensor:
    """A scalar tensor of the interpreted language."""
    return tl.tensor(TensorHandle(np.array([value], dtype=numpy_dtype(dtype)), dtype), dtype)


def integer(value: int) -> tl.tensor:
    """An integer argument with the type that a launch would give it: i32, else i64, else u64."""
    dtype = tl.int32 if -(2**31) <= value < 2**31 else tl.int64 if -(2**63) <= value < 2**63 else tl.uint64
    return scalar(value, dtype)


def counting_range(*bounds: Any, step: Any = None, **_options: Any) -> Iterator[tl.tensor]:
    """`range` inside a kernel: the loop variable is a tensor (i32, or i64 with such a bound), as compiled."""
    numbers = [b.__index__() if isinstance(b, tl.tensor) else b for b in bounds]
    if step is not None:
        numbers = [0, *numbers] if len(numbers) == 1 else numbers
        numbers.append(step.__index__() if isinstance(step, tl.tensor) else step)
    kind = _loop_type([*bounds, step])
    for i in range(*(n.value if isinstance(n, tl.constexpr) else n for n in numbers)):
        yield scalar(i, kind)


def _loop_type(bounds: list[Any]) -> tl.dtype:
    """The type of a loop variable: what the bounds and the step promote to, i32 at least for numbers."""
    semantic = interpreter.interpreter_semantic
    kinds = [semantic.to_tensor(bound).dtype for bound in bounds if bound is not None]
    if len(bounds) < 3 or bounds[-1] is None:
        kinds.append(tl.int32)  # a start of 0, a step of 1
    wrong = next((kind for kind in kinds if not kind.is_int()), None)
    if wrong is not None:
        raise TypeError(f"a loop's start, end and step are integers in a compiled kernel, and one is {wrong}")
    return functools.reduce(semantic.integer_promote_impl, kinds)


@contextlib.contextmanager
def interpreted(
    builder: ObservedBuilder, call: Callable, kind: type[TritonSemantic] = ObservedSemantic
) -> Iterator[TritonSemantic]:
    """Make `tl.*` run on `builder`; jitted helpers met inside go to `call(function, args, kwargs)`."""
    put_back()
    semantic = kind(builder)
    scope = LanguageScope()
    try:
        scope.set(interpreter, "interpreter_builder", builder)
        scope.set(interpreter, "interpreter_semantic", semantic)
        scope.set(interpreter, "_get_np_dtype", numpy_dtype)
        scope.set(interpreter, "_LangPatchScope", lambda: _Patches(scope))
        scope.set(interpreter, "_patch_builtin", builtin_binding(scope.fill))
        for owner, name, member in type_substitutes():
            scope.set(owner, name, member)
        interpreter._patch_lang(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
        scope.set(tl.tensor, "__index__", lambda self: int(self.handle.data.item()))
        scope.set(tl, "range", counting_range)
        for name in ("reduce", "associative_scan"):
            counted = _counted(getattr(tl, name), builder)
            scope.set(tl, name, counted)
            scope.set(tl.core, name, counted)
        scope.set(interpreter.ReduceOps, "sum", _sum)
        if builder.holds_wide:
            scope.set(interpreter.ReduceScanOpInterface, "to_tensor", _as_held(builder))
        for owner, members in libdevice.substitutes():
            scope.fill(owner, members)
        for name, member in missing_ops.substitutes(builder, call).items():
            if hasattr(tl, name):
                scope.set(tl, name, member)
                scope.set(tl.core, name, member)
        for name, member in list(vars(tl.tensor).items()):
            if isinstance(member, JITFunction):  # x.sum(axis=1): a JITFunction does not bind itself
                scope.set(tl.tensor, name, _method(member, call))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield semantic
    finally:
        try:
            scope.restore()
        finally:
            scope.restore()  # again, should a time limit or Ctrl-C have come just now


def put_back() -> None:
    """Take out of Triton's language what a launch left in it that was cut short while it came or went.

    Learner code may swallow a time limit and launch again; a context manager that is interrupted in its own
    first line is never left.
    """
    while _open:
        _open[-1].restore()


def _method(function: JITFunction, call: Callable) -> Callable:
    def method(self, *args, **kwargs):
        return call(function, (self, *args), kwargs)

    return method


def _counted(reduce: Callable, builder: ObservedBuilder) -> Callable:
    def counted(value, axis, combine_fn, *args, **kwargs):
        first = value[0] if isinstance(value, tuple) else value
        if first.dtype.is_floating():
            builder.operations["reduce"] += first.handle.data.size
        return reduce(value, axis, combine_fn, *args, **kwargs)

    return counted


def _sum(self, value: tl.tensor) -> tl.tensor:
    """A sum in the tile's own dtype, by halves, as a GPU's reduction tree rounds it; NumPy's is wider."""
    data = value.handle.data
    if data.dtype.itemsize > 2 or data.dtype not in FLOATS or self.axis is None:
        return self.to_tensor(np.sum(data, axis=self.axis, keepdims=self.keep_dims), value.dtype)
    data = np.moveaxis(data, self.axis, 0)
    while len(data) > 1:
        half = len(data) // 2
        data = data[:half] + data[half:]
    data = np.moveaxis(data, 0, self.axis) if self.keep_dims else data[0]
    return self.to_tensor(data, value.dtype)


def _as_held(builder: ObservedBuilder) -> Callable:
    """What a reduction makes of its result, for a builder that holds numbers in more than their type."""
    stock = interpreter.ReduceScanOpInterface.to_tensor

    def to_tensor(self, result, dtype):
        wide = np.asarray(result)
        if wide.dtype not in FLOATS or wide.dtype.itemsize <= numpy_dtype(dtype).itemsize:
            return stock(self, result, dtype)
        kind = tl.block_type(dtype, list(wide.shape)) if wide.shape else dtype
        return tl.tensor(builder.held(wide if wide.shape else wide.reshape(1), dtype.scalar), kind)

    return to_tensor


class LanguageScope:
    """Attributes that are put back in reverse order."""

    def __init__(self) -> None:
        self._changes: list[tuple[Any, str, Any]] = []
        _open.append(self)

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute until `restore`."""
        self._changes.append((owner, name, owner.__dict__.get(name, self)))
        setattr(owner, name, value)

    def fill(self, owner: Any, members: dict[str, Any]) -> None:
        """Set many members at once: a module's as one dictionary, which takes no time worth mentioning."""
        if not isinstance(owner, ModuleType):
            for name, value in members.items():
                self.set(owner, name, value)
            return
        self._changes.append((owner, "", {name: vars(owner)[name] for name in members}))
        vars(owner).update(members)

    def restore(self) -> None:
        """Put everything back."""
        while self._changes:
            owner, name, before = self._changes[-1]
            if not name:
                vars(owner).update(before)
            elif before is not self:
                setattr(owner, name, before)
            elif name in vars(owner):
                delattr(owner, name)
            self._changes.pop()  # last, so that a restore cut short can be begun again
        if self in _open:
            _open.remove(self)


_open: list[LanguageScope] = []
"""Whose changes are in Triton's language just now, the last one last."""


class _Patches:
    """What Triton's own patching notes its changes in: they belong to the scope from the first one on."""

    def __init__(self, scope: LanguageScope) -> None:
        self._scope = scope

    def set_attr(self, owner: Any, name: str, value: Any) -> None:
        self._scope.set(owner, name, value)

    def restore(self) -> None:
        """The scope puts back."""
