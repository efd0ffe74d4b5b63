"""Turn a `@triton.jit` function into a Python function that the observed interpreter can call.

As triton's own interpreter does, every assignment becomes a tensor (`x = 1` is a scalar tensor on a
GPU too). Unlike it, nothing is written into the learner's namespace: the copy runs in its own.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import types
import weakref
from collections.abc import Callable
from typing import Any

from triton.runtime.interpreter import ASTTransformer

from flashlearn.interpreter import elementwise, libdevice, loop_types
from flashlearn.interpreter.gluon import list_tuples
from flashlearn.interpreter.instrumentation import Instrumentation
from flashlearn.interpreter.learner_code import LEARNER_CODE

_compiled: weakref.WeakKeyDictionary[types.CodeType, types.CodeType] = weakref.WeakKeyDictionary()


_read: weakref.WeakKeyDictionary[types.CodeType, tuple[list[str], int]] = weakref.WeakKeyDictionary()
"""The lines of jitted functions, and the first one's number, as triton read them."""


def python_function(kernel: Any) -> Callable:
    """The plain function under `@triton.jit`, `@triton.autotune` and `@triton.heuristics`."""
    read = None
    while not inspect.isfunction(kernel):
        if hasattr(kernel, "raw_src"):
            read = list(kernel.raw_src), kernel.starting_line_number
        kernel = kernel.fn
    if read is not None and kernel.__code__ not in _read:
        _read[kernel.__code__] = read
    return kernel


def rewrite(
    function: Callable,
    extra: dict[str, Any],
    instrumentation: Instrumentation | None = None,
    gluon: bool = False,
) -> Callable:
    """A runnable copy of `function` whose globals are a copy of its own, closures and `extra` added.

    With `instrumentation` the copy reports what it assigns to hooks among `extra`; `gluon` says that it is a
    Gluon kernel's.
    """
    code = function.__code__
    if instrumentation is not None and not _tritons(function):
        if code not in instrumentation.compiled:
            instrumentation.compiled[code] = _transformed(function, instrumentation, gluon) or code
        run = instrumentation.compiled[code]
    else:
        if code not in _compiled:
            _compiled[code] = _transformed(function, gluon=gluon) or code
        run = _compiled[code]
    names = dict(function.__globals__)
    names |= libdevice.imported(names)
    if function.__closure__:
        names.update(inspect.getclosurevars(function).nonlocals)
    for key, value in (elementwise.NAMES | {list_tuples.ROW: list_tuples.ListTuple} | extra).items():
        if key not in names or names[key] is getattr(builtins, key, None):
            names[key] = value
    if not _tritons(function):
        LEARNER_CODE.add(run)
    closure = function.__closure__ if run is code else None
    copy = types.FunctionType(run, names, function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _tritons(function: Callable) -> bool:
    """True for a function of triton's own standard library."""
    return (function.__module__ or "").startswith("triton.")


def _transformed(
    function: Callable, instrumentation: Instrumentation | None = None, gluon: bool = False
) -> types.CodeType | None:
    try:
        lines, first = _read.get(function.__code__) or inspect.getsourcelines(function)
        text = textwrap.dedent("".join(lines))
        tree = ast.parse("\n" * (first - 1) + text)  # so that every line has its number
    except (OSError, TypeError, SyntaxError):
        return None  # no source (made by exec): run it as it is
    definition = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if definition is None:
        return None
    definition.decorator_list = []
    definition.returns = None
    for argument in ast.walk(definition.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    definition.args.defaults = [ast.Constant(None) for _ in definition.args.defaults]
    definition.args.kw_defaults = [d and ast.Constant(None) for d in definition.args.kw_defaults]
    tree = ASTTransformer().visit(tree)
    if instrumentation is not None:
        instrumentation.annotate(definition)
    if instrumentation is None and not _tritons(function):
        annotations = function.__annotations__.items()
        loop_types.instrument(definition, [name for name, kind in annotations if "constexpr" in str(kind)])
    if not _tritons(function) and elementwise.WORDS.search(text):
        elementwise.instrument(definition)
    if gluon:
        list_tuples.instrument_lists(definition)
    ast.fix_missing_locations(tree)
    module = compile(tree, function.__code__.co_filename, "exec")
    return next(c for c in module.co_consts if isinstance(c, types.CodeType) and c.co_name == definition.name)
