"""A learner's code may not fork the process that judges it: the fork would go on with the check."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

FORKS = ("fork", "forkpty")
FORK_REFUSED = (
    "os.{name} is refused during a check: it would start a second process in which the check continues, with "
    "a verdict of its own"
)


@contextlib.contextmanager
def no_forks() -> Iterator[None]:
    """Inside the block os.fork raises RuntimeError: a learner's code may not fork the process that judges it.

    Processes that run other programs may be started.
    """
    own = {name: getattr(os, name) for name in FORKS if hasattr(os, name)}
    try:
        for name in own:
            setattr(os, name, _refusal(name))
        yield
    finally:
        for name, function in own.items():
            setattr(os, name, function)


def _refusal(name: str) -> Any:
    def refuse() -> int:
        raise RuntimeError(FORK_REFUSED.format(name=name))

    return refuse
