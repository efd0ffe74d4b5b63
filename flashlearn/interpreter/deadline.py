"""Stop code that runs for ever, in whichever thread it runs.

A watcher asks the interpreter to raise `TimeLimit` in the thread that entered the block. It is
delivered between two bytecodes, so it ends every Python loop, and so every observed kernel. An import
is left to finish. What counts is the thread's processor time, so that a busy machine takes nothing from
a learner's seconds; code that sleeps or waits uses none, and the wall clock ends it, later. A signal
wakes the main thread out of a sleep or a lock. Code that swallows the exception gets it again, and in
the end each of its lines is watched for one where no `except` stands in the way.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from flashlearn.interpreter.errors import TimeLimit

PATIENT = 4  # attempts, a quarter of a second apart, before the code is taken to swallow them
WALL = 6.0  # times the limit: as long as it may take on a busy machine, or asleep
_OURS = str(Path(__file__).parents[1])
WAKE = getattr(signal, "SIGURG", None)  # ignored by default, so a late one does no harm


class deadline:
    """`with deadline(20):` raises `TimeLimit` inside the block once it has run for so many seconds.

    Seconds are the thread's processor time; `wall` seconds of the clock (six times as many, if it is not
    given) end the block too.

    Nested deadlines work: the inner one ends first or is cancelled with its block. Once the block
    has ended, nothing is raised any more.
    """

    def __init__(self, seconds: float, wall: float | None = None):
        self._seconds = seconds
        self._wall = WALL * seconds if wall is None else wall
        self._used: Callable[[], float] = time.monotonic
        self._begun = self._latest = 0.0
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = 0
        self._handler: Any = None
        self._tracer: Any = None
        self._outermost: FrameType | None = None
        self._wakes = self._insist = self._fired = False

    def __enter__(self) -> None:
        self._thread = threading.get_ident()
        self._used = _processor_time()
        self._begun, self._latest = self._used(), time.monotonic() + self._wall
        self._outermost = sys._getframe(1)
        if WAKE is not None and threading.current_thread() is threading.main_thread():
            self._handler, self._tracer = signal.signal(WAKE, self._wake), sys.gettrace()
            self._wakes = True
        try:
            threading.Thread(target=self._watch, name="flashlearn-deadline", daemon=True).start()
        except BaseException:  # TimeLimit itself, if it is very short: __exit__ will not be called
            self._close()
            raise

    def __exit__(self, *_error: object) -> None:
        try:
            self._close()
        finally:
            self._close()  # once more, should TimeLimit have come just now
            if self._fired:
                _settle()

    def _close(self) -> None:
        self._over.set()
        self._outermost = None
        with self._lock:
            if self._fired:
                _raise_in(self._thread, None)  # what was asked for and not yet delivered is taken back
        if self._wakes:
            signal.signal(WAKE, self._handler or signal.SIG_DFL)
            if self._insist:
                sys.settrace(self._tracer)

    def _watch(self) -> None:
        while (rest := self._rest()) > 0:
            if self._over.wait(max(rest, 0.001)):
                return
        attempt = 0
        while not self._over.is_set():
            self._fire(gently=attempt < PATIENT or attempt % 2 == 0)
            attempt += 1
            self._over.wait(0.25)

    def _rest(self) -> float:
        """Seconds that must at least go by before the time is over."""
        return min(self._seconds - (self._used() - self._begun), self._latest - time.monotonic())

    def _fire(self, gently: bool) -> None:
        for _ in range(100):  # the thread may be in our own tracing just now
            with self._lock:
                frame = sys._current_frames().get(self._thread)
                if self._over.is_set() or frame is None or _importing(frame):
                    return
                if frame.f_code.co_filename != __file__:
                    if gently or not self._wakes:
                        self._fired = True
                        _raise_in(self._thread, TimeLimit)
                    self._insist = self._insist or not gently
                    break
            time.sleep(0.001)
        if self._wakes:
            signal.pthread_kill(self._thread, WAKE)

    def _wake(self, _number: int, frame: FrameType | None) -> None:
        """A signal by itself ends a wait. If need be, watch each line for one that no `except` guards."""
        if self._insist and not self._over.is_set():
            sys.settrace(self._trace)
            while frame is not None:
                frame.f_trace = self._trace
                frame = frame.f_back

    def _trace(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if self._over.is_set():
            sys.settrace(None)
            return None
        if event == "call":
            return None  # the frames that were there when it was woken are enough
        if event == "line" and frame.f_code.co_filename != __file__ and not _guarded(frame, self._outermost):
            raise TimeLimit
        return self._trace


def _processor_time() -> Callable[[], float]:
    """A clock of this thread's processor time, for another thread to read; the wall clock where none is."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(threading.get_ident())

    def used() -> float:
        try:
            return time.clock_gettime(clock)
        except OSError:  # the thread has ended, and its block with it
            return 0.0

    return used


def _importing(frame: FrameType | None) -> bool:
    """True while a module is being imported: cut short, it would stay half made for the whole session."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _guarded(frame: FrameType | None, outermost: FrameType | None) -> bool:
    """True if an exception raised now would meet a handler before it leaves the learner's code."""
    while frame is not None and frame is not outermost:
        code = frame.f_code
        ours = code.co_filename.startswith(_OURS)
        if not ours and any(start <= frame.f_lasti < end for start, end in _guards(code)):
            return True
        frame = frame.f_back
    return False


@functools.cache
def _guards(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Which instructions have a handler around them."""
    return tuple((entry.start, entry.end) for entry in dis._parse_exception_table(code))


def _raise_in(thread: int, exception: type[BaseException] | None) -> None:
    target = ctypes.py_object(exception) if exception is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), target)


class _Settled(BaseException):
    """Raised and caught by `_settle`."""


def _settle() -> None:
    """Let one request be delivered: CPython 3.11 else waits for the one that was taken back.

    The waiting is silent until somebody traces, a debugger for one; then the first call never ends.
    """
    try:
        _raise_in(threading.get_ident(), _Settled)
        for _ in range(100):
            pass
    except _Settled:
        pass
