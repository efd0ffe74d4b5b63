"""Triton's language, lent to the observed interpreter for the length of one launch."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle
from triton.runtime.jit import JITFunction

from flashlearn.observe.builder import ObservedBuilder
from flashlearn.observe.lowprec import FLOATS, numpy_dtype


def scalar(value: int | float | bool, dtype: tl.dtype) -> tl.tensor:
    """A scalar tensor of the interpreted language."""
    return tl.tensor(TensorHandle(np.array([value], dtype=numpy_dtype(dtype)), dtype), dtype)


def integer(value: int) -> tl.tensor:
    """An integer argument with the type that a launch would give it: i32, else i64, else u64."""
    dtype = tl.int32 if -(2**31) <= value < 2**31 else tl.int64 if -(2**63) <= value < 2**63 else tl.uint64
    return scalar(value, dtype)


def counting_range(*bounds: Any, step: Any = None, **_options: Any) -> Iterator[tl.tensor]:
    """`range` inside a kernel: the loop variable is an i32 tensor, as it is once compiled."""
    numbers = [b.__index__() if isinstance(b, tl.tensor) else b for b in bounds]
    if step is not None:
        numbers = [0, *numbers] if len(numbers) == 1 else numbers
        numbers.append(step.__index__() if isinstance(step, tl.tensor) else step)
    for i in range(*(n.value if isinstance(n, tl.constexpr) else n for n in numbers)):
        yield integer(i)


@contextlib.contextmanager
def interpreted(builder: ObservedBuilder, call: Callable) -> Iterator[TritonSemantic]:
    """Make `tl.*` run on `builder`; jitted helpers met inside go to `call(function, args, kwargs)`."""
    semantic = TritonSemantic(builder)
    scope = _Scope()
    language = None
    try:
        scope.set(interpreter, "interpreter_builder", builder)
        scope.set(interpreter, "interpreter_semantic", semantic)
        scope.set(interpreter, "_get_np_dtype", numpy_dtype)
        language = interpreter._patch_lang(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
        scope.set(tl.tensor, "__index__", lambda self: int(self.handle.data.item()))
        scope.set(tl, "range", counting_range)
        for name in ("reduce", "associative_scan"):
            counted = _counted(getattr(tl, name), builder)
            scope.set(tl, name, counted)
            scope.set(tl.core, name, counted)
        scope.set(interpreter.ReduceOps, "sum", _sum)
        for name in vars(libdevice):
            if name in FUNCTIONS:
                scope.set(libdevice, name, _function(FUNCTIONS[name]))
        for name, member in list(vars(tl.tensor).items()):
            if isinstance(member, JITFunction):  # x.sum(axis=1): a JITFunction does not bind itself
                scope.set(tl.tensor, name, _method(member, call))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield semantic
    finally:
        try:
            _restore(scope, language)
        finally:
            _restore(scope, language)  # again, should a time limit or Ctrl-C have come just now


def _restore(scope: _Scope, language: Any) -> None:
    scope.restore()
    if language is not None:
        language.restore()


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


FUNCTIONS = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "log", "log2", "log10", "log1p", "expm1")},
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "floor")},
    **{name: getattr(np, name) for name in ("ceil", "trunc", "rint", "hypot", "fmod", "copysign", "cbrt")},
    "abs": np.abs,
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "fast_expf": np.exp,
    "fast_logf": np.log,
    "fast_log2f": np.log2,
    "fast_sinf": np.sin,
    "fast_cosf": np.cos,
    "fast_tanhf": np.tanh,
    "fast_dividef": np.divide,
    "div_rn": np.divide,
    "isnan": np.isnan,
    "isinf": np.isinf,
}
"""libdevice functions that NumPy can stand in for; triton's own interpreter has none of them."""


def _function(operation: Callable) -> Callable:
    def function(*tensors: Any, _semantic: TritonSemantic | None = None, **_options: Any) -> tl.tensor:
        semantic = _semantic or interpreter.interpreter_semantic
        tensors = [semantic.to_tensor(t) for t in tensors]
        first = next((t for t in tensors if t.type.is_block()), tensors[0])
        out = np.asarray(operation(*(t.handle.data for t in tensors)))
        kind = first.dtype if out.dtype != bool else tl.int1
        out = out.astype(numpy_dtype(kind))
        interpreter.interpreter_builder.operations["special"] += out.size
        shape = tl.block_type(kind, list(out.shape)) if first.type.is_block() else kind
        return tl.tensor(TensorHandle(out, kind), shape)

    return function


class _Scope:
    """Attributes that are put back in reverse order."""

    def __init__(self) -> None:
        self._changes: list[tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        self._changes.append((owner, name, vars(owner).get(name, self)))
        setattr(owner, name, value)

    def restore(self) -> None:
        while self._changes:
            owner, name, before = self._changes[-1]
            if before is not self:
                setattr(owner, name, before)
            elif name in vars(owner):
                delattr(owner, name)
            self._changes.pop()  # last, so that a restore cut short can be begun again
