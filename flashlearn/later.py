"""torch and NumPy, imported when first used: formulas are checked without them.

    >>> from flashlearn.later import torch
    >>> torch.float32                       # imports torch, here
    torch.float32

A module that only kernels need imports them as usual. One that every check needs, and that uses them only in
functions that tensors reach, takes them from here. `types_of` asks whether a value is a tensor without
importing anything.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    import torch


class _Later(ModuleType):
    """Stands in for a module: each of its names is looked up in the module itself."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what tools ask of any module: it imports nothing
            raise AttributeError(name)
        return getattr(sys.modules.get(self.__name__) or importlib.import_module(self.__name__), name)


if not TYPE_CHECKING:
    numpy, torch = _Later("numpy"), _Later("torch")


@functools.cache
def is_installed(name: str) -> bool:
    """Whether a package can be imported here; it is not imported."""
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # Pyodide's way to say that a package could be loaded, and is not
        return False


def types_of(module: str, *names: str) -> tuple[type, ...]:
    """Types of a module for isinstance; none where it is not imported, since then no value has such a type.

    >>> isinstance(3, types_of("torch", "Tensor"))
    False
    """
    imported = sys.modules.get(module)
    return tuple(getattr(imported, name) for name in names if hasattr(imported, name))
