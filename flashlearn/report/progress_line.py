"""A line while a check is under way, where that takes longer than two seconds: which case, and how to stop.

    >>> with Waiting(exercise) as waiting:
    ...     report = grade(exercise, answer, earlier, waiting.at)

It is gone when the check is over; in a notebook, the card takes its place.
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
from flashlearn.report import surroundings

PATIENCE = 2.0  # seconds until the line appears
PACE = 0.5  # seconds between two looks at how far the check is
ERASE = "\r\x1b[K"


class Waiting:
    """Shows the line from a thread of its own, and takes it away again.

    Nothing is shown where nobody looks: in a file, a pipe, or a notebook that is executed to be kept
    (FLASHLEARN_WAIT=1). Nor is it where this is to be `silent`.
    """

    def __init__(self, exercise: Exercise, patience: float | None = None, silent: bool = False):
        self.exercise = exercise
        self.silent = silent
        self.patience = PATIENCE if patience is None else patience
        self.line: _Cell | _Terminal | None = None
        self._said = "Still checking"
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def watches(self) -> bool:
        """Whether a line may come."""
        return self._thread is not None

    def at(self, case: Case | None) -> None:
        """The check has come to this case, or is through with them and looks for the mistake."""
        cases = [one.name for one in self.exercise.cases if not one.gpu]
        if case is None:
            self._said = "The cases are through; looking for the mistake"
        elif case.name in cases:
            self._said = f"Case {cases.index(case.name) + 1} of {len(cases)}: {case.name}"

    def words(self, seconds: float) -> str:
        """The line."""
        return f"{self._said} … {seconds:.0f} s. To stop: {_how_to_stop()}."

    def __enter__(self) -> Waiting:
        if not self.silent and os.environ.get("FLASHLEARN_WAIT") != "1":
            context = (
                contextvars.copy_context()
            )  # Jupyter keeps in it which cell a thread's output belongs to
            self._thread = threading.Thread(target=context.run, args=(self._watch,), daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self.line is not None:
            self.line.end()

    def _watch(self) -> None:
        started = time.monotonic()
        if self._over.wait(self.patience):
            return
        self.line = _line()
        while self.line is not None:
            with contextlib.suppress(Exception):  # nobody looks any more: the check goes on
                self.line.say(self.words(time.monotonic() - started))
            if self._over.wait(PACE):
                return


def _line() -> _Cell | _Terminal | None:
    if surroundings.in_a_notebook():
        return _Cell()
    return _Terminal(sys.stderr) if sys.stderr is not None and sys.stderr.isatty() else None


def _how_to_stop() -> str:
    if surroundings.in_a_notebook():
        return "the ■ button, or the key I twice in the margin of a cell"
    return "Ctrl-C"


class _Terminal:
    """The last line of a terminal, written over and over."""

    def __init__(self, stream: TextIO):
        self.stream = stream

    def say(self, words: str) -> None:
        self.stream.write(ERASE + words)
        self.stream.flush()

    def end(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self.stream.write(ERASE)
            self.stream.flush()


class _Cell:
    """An output of the cell that runs. A card that is shown by the same run of the cell takes its place."""

    def __init__(self) -> None:
        self.run = surroundings.execution()
        self.handle: Any = None

    def say(self, words: str) -> None:
        shown = f'<div style="opacity:0.75;font-size:13px">{html.escape(words)}</div>'
        self._show({"text/html": shown, "text/plain": words})

    def end(self) -> None:
        with contextlib.suppress(Exception):
            self._show({"text/html": "", "text/plain": ""})

    def take(self) -> Any:
        """The place where the line was, for a card to go there; None once it is taken, or in another run."""
        handle, self.handle = self.handle, None
        return handle if self.run == surroundings.execution() else None

    def _show(self, bundle: dict[str, str]) -> None:
        from IPython.display import display

        if self.handle is None:
            self.handle = display(bundle, raw=True, display_id=True)
        else:
            self.handle.update(bundle, raw=True)
