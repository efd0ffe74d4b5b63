"""Keep Python's garbage collector short while a check runs."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def ignore_existing_objects() -> Iterator[None]:
    """Exclude existing objects from garbage collection: torch and sympy alone have a million of them.

    New objects are collected as usual. Nothing changes if objects were frozen already.
    """
    if gc.get_freeze_count() or not gc.isenabled():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
