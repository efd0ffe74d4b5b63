"""A line while a check is running, where that takes longer than two seconds: which case, and how to stop.

    >>> with ProgressLine(exercise) as line:
    ...     report = grade(exercise, answer, earlier, line.at)

It disappears when the check is over; in a notebook, the card takes its place.
"""

from __future__ import annotations

import contextlib
import contextvars
import html
import os
import sys
import threading
import time
from typing import Any, TextIO

from flashlearn.exercise import Case, Exercise
from flashlearn.machine import threads
from flashlearn.observation import Compiling
from flashlearn.report import display

PATIENCE = 2.0  # seconds until the line appears
INTERVAL = 0.5  # seconds between two updates
HOLD = "<style>.jp-Cell:has(.fl-progress) ~ .jp-Cell { overflow-anchor: none; }</style>"
"""As in card.css: what a check prints meanwhile does not push its cell off the screen."""

ERASE = "\r\x1b[K"


class ProgressLine:
    """Shows the line from a thread of its own, and removes it.

    Nothing is shown where there is no reader: in a file, a pipe, or a notebook that is executed in order to
    be saved (FLASHLEARN_WAIT=1). Nor is it where this is to be `silent`.
    """

    def __init__(self, exercise: Exercise, patience: float | None = None, silent: bool = False):
        self.exercise = exercise
        self.silent = silent
        self.patience = PATIENCE if patience is None else patience
        self.output: _Cell | _Terminal | None = None
        self._progress = "Still checking"
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_active(self) -> bool:
        """Whether a line may appear."""
        return self._thread is not None

    def at(self, case: Case | Compiling | None) -> None:
        """The check has reached this case; with None, it has run all of them and looks for the mistake.

        With a `Compiling` it waits for the compiler.
        """
        cases = [one.name for one in self.exercise.cases if not one.gpu]
        if case is None:
            self._progress = "All cases have run; looking for the mistake"
        elif isinstance(case, Compiling):
            self._progress = f"Compiling kernel {min(case.done + 1, case.kernels)} of {case.kernels}"
        elif case.name in cases:
            self._progress = f"Case {cases.index(case.name) + 1} of {len(cases)}: {case.name}"

    def text(self, seconds: float) -> str:
        """The line."""
        return f"{self._progress} … {seconds:.0f} s. To stop: {_how_to_stop()}."

    def take_handle(self) -> Any:
        """The display handle of the line, for a card to replace it; None if there is none to replace."""
        return self.output.take_handle() if isinstance(self.output, _Cell) else None

    def __enter__(self) -> ProgressLine:
        if threads.CAN_START and not self.silent and os.environ.get("FLASHLEARN_WAIT") != "1":
            context = contextvars.copy_context()  # Jupyter keeps in it which cell an output belongs to
            self._thread = threading.Thread(target=context.run, args=(self._show,), daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self.output is not None:
            self.output.clear()

    def _show(self) -> None:
        started = time.monotonic()
        if self._over.wait(self.patience):
            return
        self.output = _output()
        while self.output is not None:
            with contextlib.suppress(Exception):  # the output was closed: the check goes on
                self.output.write(self.text(time.monotonic() - started))
            if self._over.wait(INTERVAL):
                return


def _output() -> _Cell | _Terminal | None:
    if display.in_a_notebook():
        return _Cell()
    return _Terminal(sys.stderr) if sys.stderr is not None and sys.stderr.isatty() else None


def _how_to_stop() -> str:
    if display.in_a_notebook():
        return "the ■ button, or I pressed twice in command mode"
    return "Ctrl-C"


class _Terminal:
    """The last line of a terminal, overwritten by each update."""

    def __init__(self, stream: TextIO):
        self.stream = stream

    def write(self, line: str) -> None:
        self.stream.write(ERASE + line)
        self.stream.flush()

    def clear(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(ERASE)
            self.stream.flush()


class _Cell:
    """An output of the cell that runs. A card that is shown by the same run of the cell takes its place."""

    def __init__(self) -> None:
        self.run = display.execution_count()
        self.handle: Any = None

    def write(self, line: str) -> None:
        shown = (
            f'{HOLD}<div class="fl-progress" style="opacity:0.75;font-size:13px">{html.escape(line)}</div>'
        )
        self._show({"text/html": shown, "text/plain": line})

    def clear(self) -> None:
        with contextlib.suppress(Exception):
            self._show({"text/html": "", "text/plain": ""})

    def take_handle(self) -> Any:
        """The display handle of the line; None if it was taken before, or in another run of the cell."""
        handle, self.handle = self.handle, None
        return handle if self.run == display.execution_count() else None

    def _show(self, bundle: dict[str, str]) -> None:
        from IPython.display import display as new_output

        if self.handle is None:
            self.handle = new_output(bundle, raw=True, display_id=True)
        else:
            self.handle.update(bundle, raw=True)
