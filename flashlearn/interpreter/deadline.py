"""Stop code that runs forever, in whichever thread it runs.

A watcher asks the interpreter to raise `TimeLimit` in the thread that entered the block. It is
delivered between two bytecodes, so it ends every Python loop, and so every observed kernel. An import
is left to finish. What counts is the thread's processor time, so that a busy machine takes nothing from
a learner's seconds; code that sleeps or waits uses none, and ends once it has slept as long. Time in which
the thread stood in line for a processor is neither. A signal wakes the main thread out of a sleep or a lock.
Code that swallows the exception gets it again, and in the end each of its lines is watched for one where no
`except` stands in the way.

While C code runs, no other Python thread does, and so no watcher. There an alarm helps, a signal by the
processor's clock: a large power and a regular expression ask for signals now and then. C code that never
asks, `sum(range(10**12))` for one, can be ended by nothing but the end of its process.

Where no thread can be started, `threadless_deadline` does what can be done.
"""

from __future__ import annotations

import ctypes
import dis
import functools
import math
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from flashlearn.interpreter import threadless_deadline
from flashlearn.interpreter.errors import TimeLimit
from flashlearn.interpreter.threadless_deadline import importing
from flashlearn.machine import threads

PATIENT = 4  # attempts, a quarter of a second apart, before the code is taken to swallow them
WALL = 6.0  # times the limit: as long as it may sleep where the time in the run queue is unknown
TICK = 1.0  # seconds after which the watcher looks again at what has gone by
GRACE = 0.25  # seconds by which the alarm lets the watcher go first
_OURS = str(Path(__file__).parents[1])
WAKE = getattr(signal, "SIGURG", None)  # ignored by default, so a late one does no harm
ALARM = getattr(signal, "SIGVTALRM", None)


class deadline:
    """`with deadline(20):` raises `TimeLimit` inside the block once it has run for that many seconds.

    Seconds are the thread's processor time; `asleep` seconds without work (as many, if it is not given)
    end the block too.

    Nested deadlines work: the inner one ends first or is cancelled with its block. Once the block
    has ended, nothing is raised any more.
    """

    def __init__(self, seconds: float, asleep: float | None = None):
        self._seconds = seconds
        self._asleep = asleep
        self._clock: Any = None
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = 0
        self._handler: Any = None
        self._tracer: Any = None
        self._outermost: FrameType | None = None
        self._alarm_before: Any = None
        self._wakes = self._alarmed = self._insist = self._fired = False

    def __enter__(self) -> None:
        if not threads.CAN_START:
            threadless_deadline.enter(self._seconds)
            return
        self._thread = threading.get_ident()
        self._clock = Clock()
        if self._asleep is None:
            self._asleep = self._seconds * (1.0 if self._clock.knows_the_line else WALL)
        self._outermost = sys._getframe(1)
        if WAKE is not None and threading.current_thread() is threading.main_thread():
            self._handler, self._tracer = signal.signal(WAKE, self._wake), sys.gettrace()
            self._wakes = True
            self._set_alarm()
        try:
            threading.Thread(target=self._watch, name="flashlearn-deadline", daemon=True).start()
        except BaseException:  # TimeLimit itself, if it is very short: __exit__ will not be called
            self._close()
            raise

    def __exit__(self, *_error: object) -> None:
        if not threads.CAN_START:
            threadless_deadline.leave()
            return
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
        if self._alarmed:
            before, timer = self._alarm_before
            signal.setitimer(signal.ITIMER_VIRTUAL, *timer)
            signal.signal(ALARM, before)
        if self._wakes:
            signal.signal(WAKE, self._handler or signal.SIG_DFL)
            if self._insist:
                sys.settrace(self._tracer)

    def _watch(self) -> None:
        while (rest := self._rest()) > 0:
            asked = min(max(rest, 0.001), TICK)
            if self._over.wait(asked):
                return
            self._clock.tick(asked)
        attempt = 0
        while not self._over.is_set():
            self._fire(gently=attempt < PATIENT or attempt % 2 == 0)
            attempt += 1
            self._over.wait(0.25)

    def _rest(self) -> float:
        """Seconds that must at least go by before the time is over."""
        return min(self._seconds - self._clock.used(), self._asleep - self._clock.slept)

    def _set_alarm(self) -> None:
        """A signal each time that this process has used that many seconds of the processor."""
        if ALARM is None:
            return
        before = signal.signal(ALARM, self._alarm)
        timer = signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds + GRACE, GRACE)
        if before is signal.SIG_DFL or before is None:
            before = signal.SIG_IGN  # by default a late alarm would end the process
        self._alarm_before, self._alarmed = (before, timer), True

    def _alarm(self, _number: int, frame: FrameType | None) -> None:
        late = not self._over.is_set() and self._clock.used() - self._seconds >= GRACE
        if late and frame is not None and frame.f_code.co_filename != __file__ and not importing(frame):
            raise TimeLimit

    def _fire(self, gently: bool) -> None:
        for _ in range(100):  # the thread may be in our own tracing just now
            with self._lock:
                frame = sys._current_frames().get(self._thread)
                if self._over.is_set() or frame is None or importing(frame):
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


class Clock:
    """What a thread has used since the clock was made: processor time, and seconds asleep.

    Another thread calls `tick` from time to time, with the seconds that it meant to wait. If it slept longer
    than that, the machine is busy, or was stopped, and what is too much does not count.
    """

    def __init__(self) -> None:
        self._processor = _processor_time()
        thread = threading.get_native_id() if threads.CAN_START else 0
        self._line = Path(f"/proc/self/task/{thread}/schedstat")
        self.slept = 0.0
        self._begun = self._last_used = self._processor()
        self._last_line, self._last = self._in_line(), time.monotonic()

    @property
    def knows_the_line(self) -> bool:
        """Whether this system says how long a thread stood in line for a processor."""
        return self._last_line is not None

    def used(self) -> float:
        """Seconds of the processor."""
        return self._processor() - self._begun

    def tick(self, asked: float = math.inf) -> None:
        """Count what has gone by since the last call as sleep, as far as it was not work or waiting."""
        now, used, line = time.monotonic(), self._processor(), self._in_line()
        busy = used - self._last_used
        if line is not None and self._last_line is not None:
            busy += line - self._last_line
        self.slept += max(0.0, min(now - self._last, asked) - busy)
        self._last, self._last_used, self._last_line = now, used, line

    def _in_line(self) -> float | None:
        """Seconds that the thread was ready to run and did not, as Linux counts them; None elsewhere."""
        try:
            return int(self._line.read_text().split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return None


def _processor_time() -> Callable[[], float]:
    """A clock of this thread's processor time, for another thread to read; the wall clock where none is."""
    if not threads.CAN_START or not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(threading.get_ident())

    def used() -> float:
        try:
            return time.clock_gettime(clock)
        except OSError:  # the thread has ended, and its block with it
            return 0.0

    return used


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

    The waiting is silent until something traces, such as a debugger; then the first call never ends.
    """
    try:
        _raise_in(threading.get_ident(), _Settled)
        for _ in range(100):
            pass
    except _Settled:
        pass
