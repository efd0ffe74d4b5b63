"""Kernels and launchers with a few lines exchanged: mistakes that no formula in torch can make.

    >>> racy = variant(fused_backward_atomic, fused_keys_kernel, edits=(("tl.atomic_add(", "tl.store("),))

The changed text is a module of its own, with lines that inspect and triton can read.
"""

from __future__ import annotations

import inspect
import linecache
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any


def variant(launcher: Callable, *kernels: Any, edits: tuple[tuple[str, str], ...]) -> Callable:
    """The launcher with `kernels`, each edit (old, new) made. ValueError where `old` is not there once."""
    parts = [inspect.getsource(kernel.fn) for kernel in kernels]
    source = "\n\n\n".join([*parts, inspect.getsource(launcher)])
    for old, new in edits:
        if source.count(old) != 1:
            raise ValueError(f"{launcher.__name__}: {old!r} occurs {source.count(old)} times, expected once")
        source = source.replace(old, new)
    title = f"{launcher.__name__} {abs(hash(edits))}"
    return made(source, launcher.__name__, title, launcher.__globals__)


def made(source: str, name: str, title: str, names: Mapping[str, Any]) -> Callable:
    """Execute a text that uses `names` as a module of its own, and return what it calls `name`."""
    file = f"<{title}>"
    module = types.ModuleType("flashlearn_" + "".join(c if c.isalnum() else "_" for c in title))
    module.__file__ = file
    sys.modules[module.__name__] = module
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    own = {"__name__", "__file__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__"}
    vars(module).update({key: value for key, value in names.items() if key not in own})
    exec(compile(source, file, "exec", dont_inherit=True), vars(module))
    return vars(module)[name]
