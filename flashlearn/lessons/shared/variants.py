"""Kernels and launchers with a few lines exchanged: mistakes that no formula in torch can make.

    >>> racy = variant(fused_backward_atomic, fused_keys_kernel, edits=(("tl.atomic_add(", "tl.store("),))
    >>> dq, dk, dv = racy(q, k, v, o, do, lse, alpha, causal)

The changed text is a module of its own, with lines that inspect and triton can read. It is made when the
variant is first called: a declaration costs nothing.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

Edits = tuple[tuple[str, str], ...]
"""(old, new) pieces of text, in order; each `old` occurs exactly once."""


class Variant:
    """A launcher with edits; `inspect.unwrap` gives the plain function of it."""

    def __init__(self, launcher: Callable, kernels: tuple[Any, ...], edits: Edits):
        self.launcher, self.kernels, self.edits = launcher, kernels, edits
        self.__name__ = launcher.__name__
        self.__doc__ = launcher.__doc__

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.__wrapped__(*arguments, **named)

    @functools.cached_property
    def __wrapped__(self) -> Callable:
        """The launcher as a function of the changed text. ValueError where an `old` is not there once."""
        name = self.launcher.__name__
        parts = [inspect.getsource(kernel.fn) for kernel in self.kernels]
        source = "\n\n\n".join([*parts, inspect.getsource(self.launcher)])
        source = apply_edits(source, self.edits, name)
        return load(source, name, f"{name} {abs(hash(self.edits))}", self.launcher.__globals__)


def variant(launcher: Callable, *kernels: Any, edits: Edits) -> Variant:
    """The launcher with `kernels`, each edit made when it is first called.

    `kernels` are those of the launcher's kernels that an edit changes. Edits are made in the text of the
    kernels, one after another, followed by the text of the launcher.
    """
    return Variant(launcher, kernels, edits)


def apply_edits(source: str, edits: Edits, name: str) -> str:
    """The text after all edits, in order. ValueError with `name` in it where an `old` does not occur once."""
    for old, new in edits:
        if source.count(old) != 1:
            raise ValueError(f"{name}: {old!r} occurs {source.count(old)} times, expected once")
        source = source.replace(old, new)
    return source


def load(source: str, name: str, title: str, names: Mapping[str, Any]) -> Callable:
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
