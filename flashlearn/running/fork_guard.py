"""No second copy of a check: a learner's code may not fork the process that judges it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

WAYS = ("fork", "forkpty")
REFUSED = (
    "os.{name} is refused during a check: it would make a second process in which the check goes on, with a "
    "verdict of its own"
)


@contextlib.contextmanager
def no_forks() -> Iterator[None]:
    """Inside the block os.fork raises RuntimeError. Processes that run other programs may be started."""
    own = {name: getattr(os, name) for name in WAYS if hasattr(os, name)}
    try:
        for name in own:
            setattr(os, name, _refusal(name))
        yield
    finally:
        for name, function in own.items():
            setattr(os, name, function)


def _refusal(name: str) -> Any:
    def refuse() -> int:
        raise RuntimeError(REFUSED.format(name=name))

    return refuse
