"""What kernels print, capped: a kernel prints once for each of its programs, and a check runs thousands.

>>> with capped():
...     kernel[(1000,)](x)              # the first lines, and then how many there were
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any, TextIO

LINES = 24
LONGEST = 2000  # characters of one line


class Capped:
    """Stands in for `sys.stdout`: passes on the first lines, counts them all; `muted`, it does neither."""

    def __init__(self, stream: TextIO, most: int):
        self.stream, self.most = stream, most
        self.lines = 0
        self.muted = False
        self._column = 0

    def write(self, text: str) -> int:
        """Like a file's."""
        if not self.muted:
            for line in text.splitlines(keepends=True):
                self._write(line)
        return len(text)

    def _write(self, line: str) -> None:
        started, ended = self._column > 0, line.endswith("\n")
        room = LONGEST - self._column
        self.lines += not started
        self._column = 0 if ended else self._column + len(line)
        if self.lines > self.most or room < 0:
            return
        cut = len(line) > room
        self.stream.write(line[:room] + (" …\n" if ended else " …") if cut else line)

    def flush(self) -> None:
        """Like a file's."""
        self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    @property
    def summary(self) -> str:
        """How much there was; empty if all of it is shown."""
        if self.lines <= self.most:
            return ""
        return (
            f"… {self.lines:,} lines were printed, and the first {self.most} are shown: "
            "a kernel prints once for each of its programs.\n"
        )


@contextlib.contextmanager
def capped(most: int = LINES) -> Iterator[Capped]:
    """What is printed inside the block is counted, and the first `most` lines shown; inner blocks join it."""
    if isinstance(sys.stdout, Capped):
        yield sys.stdout
        return
    printed = Capped(sys.stdout, most)
    with contextlib.redirect_stdout(printed):  # type: ignore[type-var]
        try:
            yield printed
        finally:
            if printed.summary:
                printed.stream.write(printed.summary)


@contextlib.contextmanager
def muted() -> Iterator[None]:
    """Inside the block, which repeats what was shown, nothing of it is printed or counted."""
    if not isinstance(sys.stdout, Capped):
        yield
        return
    printed = sys.stdout
    before, printed.muted = printed.muted, True
    try:
        yield
    finally:
        printed.muted = before
