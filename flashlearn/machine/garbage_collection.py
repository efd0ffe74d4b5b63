"""What Python's collector looks through while a check runs."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def young_only() -> Iterator[None]:
    """Leave what existed before out of the collector's rounds: torch and sympy alone are a million objects.

    What is made meanwhile is collected as always. Who has frozen objects before is left alone.
    """
    if gc.get_freeze_count() or not gc.isenabled():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
