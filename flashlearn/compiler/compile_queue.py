"""The order in which kernels are compiled: what a check waits for starts at once, other work queues.

    >>> with queue.foreground():        # a check needs the compiler's answer
    ...     ...
    >>> with queue.background(3):       # the third card of a session: newer cards come first
    ...     ...

In the background two compile at a time, the newest card first: it is the one that the learner looks at.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

BACKGROUND_SLOTS = 2


class CompileQueue:
    """Admits foreground work immediately, and background work to a number of slots, the newest first."""

    def __init__(self, slots: int = BACKGROUND_SLOTS):
        self._free = slots
        self._foreground = 0
        self._waiting: list[int] = []
        self._change = threading.Condition()

    @contextlib.contextmanager
    def foreground(self) -> Iterator[None]:
        """Never waits; no background work starts while the block runs."""
        self._count(foreground=1)
        try:
            yield
        finally:
            self._count(foreground=-1)

    @contextlib.contextmanager
    def background(self, number: int) -> Iterator[None]:
        """Waits for a free slot, for foreground work, and for those with a higher number."""
        with self._change:
            self._waiting.append(number)
            self._change.wait_for(lambda: self._may_start(number))
            self._waiting.remove(number)
            self._free -= 1
            self._change.notify_all()
        try:
            yield
        finally:
            self._count(free=1)

    def _may_start(self, number: int) -> bool:
        return self._free > 0 and not self._foreground and number == max(self._waiting)

    def _count(self, foreground: int = 0, free: int = 0) -> None:
        with self._change:
            self._foreground += foreground
            self._free += free
            self._change.notify_all()
