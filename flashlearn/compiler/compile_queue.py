"""Whose turn it is to compile: who waits for the answer comes at once, what runs in the background waits.

    >>> with turns.at_once():           # a check that needs the compiler's answer
    ...     ...
    >>> with turns.in_background(3):    # the third card of a session: newer cards come first
    ...     ...

In the background two compile at a time, the newest card first: it is the one that somebody looks at.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

AT_A_TIME = 2


class Turns:
    """Lets those in through `at_once` immediately, and of the others so many at a time, the newest first."""

    def __init__(self, at_a_time: int = AT_A_TIME):
        self._free = at_a_time
        self._urgent = 0
        self._waiting: list[int] = []
        self._change = threading.Condition()

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Never waits; while the block runs, nothing begins in the background."""
        self._count(urgent=1)
        try:
            yield
        finally:
            self._count(urgent=-1)

    @contextlib.contextmanager
    def in_background(self, number: int) -> Iterator[None]:
        """Waits for a free place, for whoever is urgent, and for those with a higher number."""
        with self._change:
            self._waiting.append(number)
            self._change.wait_for(lambda: self._may_begin(number))
            self._waiting.remove(number)
            self._free -= 1
            self._change.notify_all()
        try:
            yield
        finally:
            self._count(free=1)

    def _may_begin(self, number: int) -> bool:
        return self._free > 0 and not self._urgent and number == max(self._waiting)

    def _count(self, urgent: int = 0, free: int = 0) -> None:
        with self._change:
            self._urgent += urgent
            self._free += free
            self._change.notify_all()
