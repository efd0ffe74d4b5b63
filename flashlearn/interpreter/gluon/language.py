"""Gluon's language, lent to the observed interpreter for the length of one launch.

Gluon's functions take the semantic that they work for as an argument. In the modules they are exchanged for
functions that have it; one that a kernel's module has imported by itself is exchanged in the kernel's copy,
by `exchanged`.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _core as ttgl
from triton.runtime import interpreter
from triton.runtime.jit import JITFunction

from flashlearn.interpreter.gluon.operations import GluonOperations
from flashlearn.interpreter.gluon.semantic import ObservedGluonSemantic
from flashlearn.interpreter.language import LanguageScope, counting_range, interpreted, put_back

LANGUAGE = "triton.experimental.gluon.language"
MODULES = ("", "._core", "._math", "._standard", ".nvidia", ".nvidia.ampere", ".nvidia.ampere.async_copy",
           ".nvidia.ampere.mbarrier", ".nvidia.hopper", ".nvidia.hopper.tma", ".nvidia.hopper.mbarrier",
           ".nvidia.hopper.cluster", ".nvidia.blackwell")  # fmt: skip
ACCUMULATOR_USES = ("to", "shape", "dtype", "__add__", "__sub__", "__mul__", "__truediv__", "__getitem__",
                    "__radd__", "__rmul__", "__neg__")  # fmt: skip

ACCUMULATOR = "warpgroup_mma_accumulator"
TAKE_ACCUMULATORS = ("warpgroup_mma", "warpgroup_mma_wait", "warpgroup_mma_init")


class Field(tl.constexpr):
    """A constant that an aggregate holds: in a kernel its attributes are its value's, as compiled."""

    def __getattr__(self, name: str) -> Any:
        if name == "value" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.value, name)


class GluonLanguage:
    """What is exchanged while a launch runs."""

    def __init__(self, call: Callable, semantic: Any):
        self.call, self.semantic = call, semantic
        self.functions: dict[int, tuple[Any, Any]] = {}  # by id: the original, which stays alive, and ours
        self.classes: dict[int, tuple[Any, Any]] = {}

    def exchanged(self, names: dict[str, Any]) -> None:
        """Exchange, in a kernel copy's own names, what was imported one by one."""
        for name, value in list(names.items()):
            new = self.value(value)
            if new is not value:
                names[name] = new

    def value(self, value: Any) -> Any:
        """A value as the interpreted kernel gets it."""
        known = self.functions.get(id(value))
        if known is not None:
            return known[1]
        if inspect.isclass(value) and getattr(value, "__triton_aggregate__", False):
            return self._aggregate(value)
        if inspect.isfunction(value) and tl.core.is_builtin(value):  # one made by Gluon's decorator
            self.functions[id(value)] = (value, _bound(value, self.semantic))
            return self.functions[id(value)][1]
        return value

    def _aggregate(self, kind: type) -> type:
        """A subclass whose jitted methods bind to their object, and whose fields may be plain numbers."""
        if id(kind) in self.classes:
            return self.classes[id(kind)][1]
        call = self.call

        def method(function: Any) -> Callable:
            return lambda *args, **kwargs: call(function, args, kwargs)

        members = {
            name: method(member)
            for name, member in inspect.getmembers(kind)
            if isinstance(member, JITFunction) and name != "__init__"
        }
        members["__setattr__"] = _keep
        twin = type(kind.__name__, (kind,), members)
        self.classes[id(kind)] = self.classes[id(twin)] = (kind, twin)
        return twin


def _keep(self: Any, name: str, value: Any) -> None:
    """Set an aggregate's field."""
    object.__setattr__(self, name, Field(value) if type(value) is tl.constexpr else value)


@contextlib.contextmanager
def gluon_interpreted(builder: GluonOperations, call: Callable) -> Iterator[tuple[Any, GluonLanguage]]:
    """Make Gluon's language run on `builder`; jitted helpers go to `call(function, args, kwargs)`."""
    builder.call = call
    put_back()
    operators = [] if _ASKS_FOR_THE_SEMANTIC else list(_builtins())
    with interpreted(builder, call, ObservedGluonSemantic) as semantic:
        scope, lent = LanguageScope(), GluonLanguage(call, semantic)
        try:
            for owner, name, member in operators:
                if getattr(vars(owner)[name], "__name__", "") == "<lambda>":  # triton's own stand-in
                    scope.set(owner, name, _bound(member, semantic))
            _lend(scope, lent, semantic)
            yield semantic, lent
        finally:
            try:
                scope.restore()
            finally:
                scope.restore()  # again, should a time limit have come just now


_ASKS_FOR_THE_SEMANTIC = any(
    "interpreter_semantic" in code.co_names
    for code in interpreter._patch_attr.__code__.co_consts
    if hasattr(code, "co_names")
)
"""Triton 3.6 gives its own functions a semantic of its own; later ones ask for the one that is current."""


def _builtins() -> Iterator[tuple[Any, str, Any]]:
    """Triton's functions and the tensors' methods, as they are before they are lent: owner, name, member."""
    for owner in (tl, tl.core, tl.math, tl.tensor):
        for name, member in list(vars(owner).items()):
            if tl.core.is_builtin(member) and not inspect.isclass(member):
                yield owner, name, member


def _lend(scope: LanguageScope, lent: GluonLanguage, semantic: Any) -> None:
    special = _special(semantic)
    for module in MODULES:
        try:
            owner = importlib.import_module(LANGUAGE + module)
        except ImportError:
            continue
        for name, member in list(vars(owner).items()):
            if inspect.isclass(member) and member.__name__ not in special:
                continue
            if name in special and (special[name][0] is None or _is(member, special[name][0])):
                new = special[name][1]
            elif tl.core.is_builtin(member) and not inspect.isclass(member):
                new = _bound(member, semantic)
            else:
                continue
            lent.functions[id(member)] = (member, new)
            scope.set(owner, name, new)
    _lend_methods(scope, semantic)
    for name in ("reduce", "associative_scan"):
        new = _laid_out(getattr(tl.core, name), semantic)
        for owner in (tl, tl.core, ttgl, importlib.import_module(LANGUAGE)):
            scope.set(owner, name, new)
    scope.set(tl.tensor, "T", property(lambda self: semantic.trans(self)))


def _lend_methods(scope: LanguageScope, semantic: Any) -> None:
    for name, member in list(vars(ttgl.shared_memory_descriptor).items()):
        if callable(member) and "_semantic" in _parameters(member):
            scope.set(ttgl.shared_memory_descriptor, name, _bound(member, semantic))
    with contextlib.suppress(ImportError):
        hopper = importlib.import_module(LANGUAGE + ".nvidia.hopper")
        accumulator = hopper.warpgroup_mma_accumulator
        for name in ACCUMULATOR_USES:
            misused = lambda self, *_: self.handle.data  # noqa: E731  which raises the fault
            scope.set(accumulator, name, property(misused) if not name.startswith("__") else misused)


def _special(semantic: Any) -> dict[str, tuple[Any, Any]]:
    """Functions that mean something else here, by name: the module of theirs (None: any), and ours."""

    def allocate_mbarrier(batch=None, two_ctas=False):
        batch = ttgl._unwrap_if_constexpr(batch)
        hopper = importlib.import_module(LANGUAGE + ".nvidia.ampere.mbarrier")
        shape = [1] if batch is None else [batch, 1]
        return semantic.allocate_shared(ttgl.int64, shape, hopper.MBarrierLayout(), None)

    def static_assert(condition, message="", **_):
        assert condition, ttgl._unwrap_if_constexpr(message)

    def static_range(*bounds, step=None, **_):
        numbers = [int(ttgl._unwrap_if_constexpr(b)) for b in bounds]
        if step is not None:
            numbers = [0, *numbers] if len(numbers) == 1 else numbers
            numbers.append(int(ttgl._unwrap_if_constexpr(step)))
        return range(*numbers)

    def marked(value, *_args, **_kwargs):
        return value

    return {
        "allocate_mbarrier": (None, allocate_mbarrier),
        "static_assert": (None, static_assert),
        "static_print": (None, lambda *args, **_: print(*args)),
        "static_range": (None, static_range),
        "range": (None, counting_range),
        "multiple_of": (None, marked),
        "max_contiguous": (None, marked),
        "max_constancy": (None, marked),
        "assume": (None, lambda *_args, **_kwargs: None),
        "sync_cluster_init": (None, lambda: None),
    }


def _is(member: Any, module: str) -> bool:
    return getattr(member, "__module__", "") == module


def _parameters(function: Any) -> Any:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _bound(function: Callable, semantic: Any) -> Callable:
    takes = function.__name__ in TAKE_ACCUMULATORS

    def bound(*args, **kwargs):
        kwargs.pop("_semantic", None)
        for value in () if takes else (*args, *kwargs.values()):
            if type(value).__name__ == ACCUMULATOR:
                value.handle.data  # noqa: B018  which raises the fault
        result = function(*args, **kwargs, _semantic=semantic)
        return result.value if isinstance(result, tl.constexpr) else result

    bound.__name__ = getattr(function, "__name__", "bound")
    return bound


def _laid_out(reduce: Callable, semantic: Any) -> Callable:
    """`reduce` and `associative_scan` of the interpreter, whose results get their layouts back."""
    scans = reduce is tl.core.associative_scan

    def laid_out(value, axis, combine_fn, *args, **kwargs):
        kwargs = {k: v for k, v in kwargs.items() if k not in ("_semantic", "_generator")}
        axis = ttgl._unwrap_if_constexpr(axis)
        several = isinstance(value, tuple | tl.tuple)
        source = value[0] if several else value
        if axis is not None and axis < 0:
            axis += len(source.shape)
        kept = scans or bool(ttgl._unwrap_if_constexpr(kwargs.get("keep_dims", args[0] if args else False)))
        result = reduce(tuple(value) if several else value, axis, combine_fn, *args, **kwargs)
        if isinstance(result, tuple | list):
            return tuple(semantic.reduced(part, source, axis, kept) for part in result)
        return semantic.reduced(result, source, axis, kept)

    return laid_out
