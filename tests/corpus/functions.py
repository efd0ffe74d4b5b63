"""Functions made from text: what a check calls."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
import textwrap
import types
from collections.abc import Callable, Mapping
from typing import Any

PREAMBLE = (
    "import math\nimport numpy as np\nimport sympy as sp\nimport torch\nimport triton\n"
    "import triton.language as tl\nfrom triton.tools.tensor_descriptor import TensorDescriptor\n"
)
"""What every text finds imported, as the lesson's first cell does for a learner."""

_numbers = itertools.count(1)


def function_from_text(
    source: str, name: str = "", *, filename: str = "", context: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """The function `name` that a text defines; without a name, the last plain function in it.

    The text is registered with linecache, so that triton and tracebacks find its lines. `context` holds
    further names that the text uses. Raises ValueError if there is no such function.
    """
    filename = f"<corpus {filename or next(_numbers)}>"
    text = PREAMBLE + source.strip("\n") + "\n"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    module = types.ModuleType(f"corpus_{filename[8:-1]}")
    module.__file__ = filename
    namespace = module.__dict__
    namespace.update(context or {})
    exec(compile(text, filename, "exec"), namespace)
    names = [name] if name else [n for n in reversed(_functions(text)) if _is_plain(namespace.get(n))]
    if not names or names[0] not in namespace:
        raise ValueError(f"no function {name} in\n{source}")
    return namespace[names[0]]


def _functions(text: str) -> list[str]:
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def _is_plain(value: Any) -> bool:
    return isinstance(value, types.FunctionType)


def function_with_edits(
    base: str | Callable[..., Any], *edits: tuple[str, str], name: str = ""
) -> Callable[..., Any]:
    """A new function: `base` with each (old, new) replaced once.

    `base` is a text, as for `function_from_text`, or a launcher, which is taken with the functions and
    kernels that it uses. Raises ValueError if an `old` does not occur exactly once.
    """
    context: dict[str, Any] = {}
    if not isinstance(base, str):
        name = name or base.__name__
        base, context = section_of(base)
    text = base
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} occurs {text.count(old)} times, not once, in\n{text}")
        text = text.replace(old, new)
    return function_from_text(text, name, context=context)


def section_of(function: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """The text of a function and of the functions and kernels of its module that it uses, and its globals."""
    namespace = dict(function.__globals__)
    pieces: dict[int, str] = {}
    _collect(function, namespace, pieces)
    return "\n\n".join(text for _, text in sorted(pieces.items())), namespace


def _collect(function: Any, namespace: dict[str, Any], pieces: dict[int, str]) -> None:
    while not _is_plain(function):  # a JITFunction, or an autotuner or heuristics around one
        function = function.fn
    line = function.__code__.co_firstlineno
    if line in pieces:
        return
    pieces[line] = textwrap.dedent(inspect.getsource(function)) + "\n"
    for name in _names(function.__code__):
        used = namespace.get(name)
        if _is_plain(used) or hasattr(used, "fn"):
            inner = used
            while not _is_plain(inner) and hasattr(inner, "fn"):
                inner = inner.fn
            if _is_plain(inner) and inner.__module__ == namespace.get("__name__"):
                _collect(inner, namespace, pieces)


def _names(code: types.CodeType) -> list[str]:
    inner = [name for c in code.co_consts if isinstance(c, types.CodeType) for name in _names(c)]
    return [*code.co_names, *inner]
