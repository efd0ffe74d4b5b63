"""A deadline where no thread can be started, as in a browser: Python's calls and jumps look at the clock.

    >>> enter(20.0)
    >>> try:
    ...     formula(x)                  # TimeLimit is raised in it after 20 s by the clock
    ... finally:
    ...     leave()

It ends every Python loop, and whatever calls Python functions; an import is left to finish. C code that calls
none runs on. Python 3.11 has no `sys.monitoring`: there nothing is ended.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

from flashlearn.interpreter.errors import TimeLimit

EVERY = 200
"""Calls and jumps after which the clock is looked at: it takes longer than they do."""

TOOL = 4  # a number that neither debuggers nor profilers use
_OWN = tuple(str(Path(__file__).with_name(name)) for name in ("deadline.py", "threadless_deadline.py"))
_ends: list[float] = []
"""When the open blocks end, the outermost first, by time.monotonic."""

_turns: Iterator[int] = itertools.count(1)


def enter(seconds: float) -> None:
    """Open a block that may take so many seconds."""
    if not _ends:
        _watch(True)
    _ends.append(time.monotonic() + seconds)


def leave() -> None:
    """Close the innermost block."""
    _ends.pop()
    if not _ends:
        _watch(False)


def _watch(on: bool) -> None:
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return
    events = monitoring.events
    if on:
        monitoring.use_tool_id(TOOL, "flashlearn")
        monitoring.register_callback(TOOL, events.PY_START, _look)
        monitoring.register_callback(TOOL, events.JUMP, _look)
        monitoring.set_events(TOOL, events.PY_START | events.JUMP)
    else:
        monitoring.set_events(TOOL, events.NO_EVENTS)
        monitoring.free_tool_id(TOOL)


def _look(code: CodeType, *_: object) -> None:
    if next(_turns) % EVERY or not _ends or time.monotonic() < min(_ends):
        return
    if code.co_filename not in _OWN and not importing(sys._getframe(1)):
        raise TimeLimit


def importing(frame: FrameType | None) -> bool:
    """True while a module is being imported: cut short, it would stay half made for the whole session."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
