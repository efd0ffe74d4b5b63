"""An answer in a process of its own: the same questions, over a socket, in an encoding of ours.

    >>> with Apart(Loader("cells:load", ("row_sum",), "row_sum", "flashlearn.lessons:find")) as answer:
    ...     evidence = answer.run(inputs, Observed(seed=3))

The learner's code runs apart from the process that judges it. The child loads the function, and the exercise
for how it calls one, from what `Loader` names. An exercise imports its references too: to keep answers out of
the child's reach is the business of whoever writes the loader. What the child sends back is decoded by
flashlearn.processes.encoding, never unpickled. A child that dies, or does not answer within its time, ends in
evidence that says so. With a `Nursery`, a process that has imported
everything already makes the children, by forking.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashlearn.exercise import Inputs
from flashlearn.outcome import Status
from flashlearn.processes.encoding import HEAD, Malformed, body_size, decode, encode, register
from flashlearn.running import records  # noqa: F401  what may travel
from flashlearn.running.answer import Answer, Facts
from flashlearn.running.answer_source import Section
from flashlearn.running.evidence import Evidence, Raised
from flashlearn.running.run_modes import RunMode

STARTING = 60.0
"""Seconds that a fresh child may take to import what it needs, and to load the function."""

PATIENCE = 6.0
"""So many times its limit a call may take by the clock: the limit counts processor time."""


STUCK = "Still running after {limit:g} s, so it was stopped. Does a loop's condition ever become false?"
DIED = "The process that ran the function ended before the function returned."
SILENT = "The process that ran the function gave no answer"


class ChildError(RuntimeError):
    """The child could not be started, or could not load the function; the message is its own."""


@dataclass(frozen=True)
class Loader:
    """How the child gets the function: `path` is "module:function", called with `arguments`.

    `exercise` is the name of the exercise that it answers, looked up by `find`, which is a path too.
    """

    path: str
    arguments: tuple = ()
    exercise: str = ""
    find: str = ""


register(Loader)


class Channel:
    """Whole messages over a socket."""

    def __init__(self, connection: socket.socket):
        self.connection = connection

    def send(self, value: Any) -> None:
        self.connection.sendall(encode(value))

    def receive(self, until: float | None = None) -> Any:
        """The next value. Raises EOFError where the other side is gone, TimeoutError, Malformed."""
        head = self._exactly(HEAD.size, until)
        return decode(head + self._exactly(body_size(head), until))

    def _exactly(self, size: int, until: float | None) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            self.connection.settimeout(left)
            part = self.connection.recv(min(size - len(parts), 1 << 20))
            if not part:
                raise EOFError
            parts += part
        return bytes(parts)


class Nursery:
    """A process that has torch, triton and the package in memory, and forks a child for each answer.

    `warm` are paths of functions that it calls once at its start, without arguments.
    """

    def __init__(self, warm: Sequence[str] = (), environment: Mapping[str, str] | None = None):
        ours, theirs = socket.socketpair()
        self.process = _python("fork_server", theirs, environment, warm)
        self.control = ours

    def child(self) -> tuple[socket.socket, int]:
        """The socket of a new child, and its process number."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.control, [b"c"], [theirs.fileno()])
        self.control.settimeout(STARTING)
        number = self.control.recv(16)
        if not number:
            raise ChildError("the process that makes children is gone")
        return ours, int(number)

    def close(self) -> None:
        """End the process."""
        self.control.close()
        self.process.wait()

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class Apart(Answer):
    """The answer of a child process. To be closed, or used as a context manager."""

    def __init__(
        self, loader: Loader, nursery: Nursery | None = None, environment: Mapping[str, str] | None = None
    ):
        self.process: subprocess.Popen | None = None
        self.elsewhere = self.taken = 0.0
        if nursery is not None:
            connection, self.number = nursery.child()
        else:
            connection, theirs = socket.socketpair()
            self.process = _python("remote_child", theirs, environment)
            self.number = self.process.pid
        self.channel = Channel(connection)
        try:
            self.known: Facts = self._ask(STARTING, "load", loader)
        except (EOFError, TimeoutError, OSError):
            self.close()
            raise ChildError("the child process could not be started") from None

    def facts(self) -> Facts:
        return self.known

    def misfit(self, name: str, arguments: Sequence[str]) -> str:
        return str(self._ask_gently("misfit", name, list(arguments)) or "")

    def sections(self) -> tuple[Section, ...]:
        found = self._ask_gently("sections")
        return tuple(one for one in found or () if isinstance(one, Section))

    def run(self, inputs: Inputs, mode: RunMode) -> Evidence:
        limit = getattr(mode, "limit", STARTING)
        try:
            evidence = self._ask(PATIENCE * limit + 5.0, "run", inputs, mode)
        except TimeoutError:
            self.close()
            return _ended("TimeLimit", Status.TIMEOUT, STUCK.format(limit=limit))
        except (EOFError, OSError):
            self.close()
            return _ended("Died", Status.CRASHED, DIED)
        except (Malformed, ChildError) as error:
            self.close()
            return _ended("Malformed", Status.CRASHED, f"{SILENT}: {error}.")
        except KeyboardInterrupt:
            self.close()
            raise
        if isinstance(evidence, Evidence):
            self.elsewhere += evidence.processor
            self.taken += evidence.processor + evidence.asleep
        else:
            self.close()
            return _ended("Malformed", Status.CRASHED, f"{SILENT}.")
        return evidence

    @contextlib.contextmanager
    def prepared(self, draws: Sequence[Inputs], limit: float) -> Iterator[None]:
        """Nothing is compiled ahead: the child compiles at the first launch."""
        yield

    def close(self) -> None:
        """End the child and what it started."""
        self.channel.connection.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.number, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _ask_gently(self, what: str, *arguments: Any) -> Any:
        """The answer to a question without which one can live; None from a child that is gone."""
        try:
            return self._ask(STARTING, what, *arguments)
        except (OSError, EOFError, Malformed, ChildError):
            return None

    def _ask(self, seconds: float, what: str, *arguments: Any) -> Any:
        self.channel.connection.settimeout(seconds)
        self.channel.send((what, *arguments))
        said, value = self.channel.receive(time.monotonic() + seconds)
        if said != "done":
            raise ChildError(str(value))
        return value


def _ended(kind: str, status: Status, sentence: str) -> Evidence:
    return Evidence(raised=Raised(kind, sentence, status, sentence))


def _python(
    module: str, theirs: socket.socket, environment: Mapping[str, str] | None, more: Sequence[str] = ()
) -> subprocess.Popen:
    """A Python process of its own group that holds the other end of a socket."""
    with theirs:
        return subprocess.Popen(
            [sys.executable, "-m", f"flashlearn.running.{module}", str(theirs.fileno()), *more],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=dict(os.environ if environment is None else environment),
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
