"""Stop code that runs for ever, in whichever thread it runs.

A timer asks the interpreter to raise `TimeLimit` in the thread that entered the block. It is
delivered between two bytecodes, so it ends every Python loop, and so every observed kernel.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flashlearn.observe.errors import TimeLimit


def _raise_in(thread: int, exception: type[BaseException] | None) -> None:
    target = ctypes.py_object(exception) if exception is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), target)


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise `TimeLimit` inside the block once it has run for `seconds`.

    Nested deadlines work: the inner one ends first or is cancelled with its block. Once the block
    has ended, nothing is raised any more.
    """
    thread = threading.get_ident()
    lock = threading.Lock()
    state = {"open": True, "fired": False}

    def fire() -> None:
        with lock:
            if state["open"]:
                state["fired"] = True
                _raise_in(thread, TimeLimit)

    timer = threading.Timer(seconds, fire)
    timer.daemon = True
    timer.start()
    delivered = False
    try:
        yield
    except TimeLimit:
        delivered = True
        raise
    finally:
        timer.cancel()
        with lock:
            state["open"] = False
            if state["fired"] and not delivered:
                _raise_in(thread, None)  # asked for, not yet delivered: take it back
