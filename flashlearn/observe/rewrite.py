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

from flashlearn.observe.access import LEARNER_CODE

_compiled: weakref.WeakKeyDictionary[types.CodeType, types.CodeType] = weakref.WeakKeyDictionary()


def python_function(kernel: Any) -> Callable:
    """The plain function under `@triton.jit`, `@triton.autotune` and `@triton.heuristics`."""
    while not inspect.isfunction(kernel):
        kernel = kernel.fn
    return kernel


def rewrite(function: Callable, extra: dict[str, Any]) -> Callable:
    """A runnable copy of `function` whose globals are a copy of its own, closures and `extra` added."""
    code = function.__code__
    if code not in _compiled:
        _compiled[code] = _transformed(function) or code
    run = _compiled[code]
    names = dict(function.__globals__)
    if function.__closure__:
        names.update(inspect.getclosurevars(function).nonlocals)
    for key, value in extra.items():
        if key not in names or names[key] is getattr(builtins, key, None):
            names[key] = value
    if not (function.__module__ or "").startswith("triton."):
        LEARNER_CODE.add(run)
    closure = function.__closure__ if run is code else None
    copy = types.FunctionType(run, names, function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _transformed(function: Callable) -> types.CodeType | None:
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
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
    tree = ast.fix_missing_locations(ASTTransformer().visit(tree))
    ast.increment_lineno(tree, first - 1)
    module = compile(tree, function.__code__.co_filename, "exec")
    return next(c for c in module.co_consts if isinstance(c, types.CodeType) and c.co_name == definition.name)
