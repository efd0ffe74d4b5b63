"""An answer in a process of its own: the same questions, over a socket.

    >>> with RemoteAnswer(Loader("cells:load", ("row_sum",), "row_sum", "flashlearn.lessons:find")) as answer:
    ...     evidence = answer.run(inputs, Observed(seed=3))

The learner's code runs in another process than the one that judges it. The child (`remote_child.py`) loads
the function, and the exercise for how it calls one, from what `Loader` names. An exercise imports its
references too: the author of the loader keeps answers out of the child's reach. What the child sends back is
decoded by flashlearn.processes.encoding, never unpickled. A child that dies, or does not answer within its
time limit, yields evidence that says so. With an `AnswerForkServer` children are forked from a process that
has imported everything already.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashlearn.exercise import Inputs
from flashlearn.outcome import Status
from flashlearn.processes import fork_server
from flashlearn.processes.channel import Channel
from flashlearn.processes.encoding import Malformed, register
from flashlearn.processes.limits import kill_group
from flashlearn.processes.start import STARTING, ChildError, start_with_socket
from flashlearn.running import records  # noqa: F401  what may travel
from flashlearn.running.answer import Answer, Facts
from flashlearn.running.answer_source import Section
from flashlearn.running.evidence import Evidence, Raised
from flashlearn.running.run_modes import RunMode

PATIENCE = 6.0
"""How many times its limit, which counts CPU time, a call may take by the clock."""

FORK = "fork"
"""What makes the child process a fork server of such processes."""

STUCK = "Still running after {limit:g} s, so it was stopped. Does a loop's condition ever become false?"
DIED = "The process that ran the function ended before the function returned."
SILENT = "The process that ran the function gave no answer"


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


class AnswerForkServer:
    """A process that has torch, triton and the package in memory, and forks a child for each answer.

    `warm` are paths of functions that it calls once at its start, without arguments.
    """

    def __init__(self, warm: Sequence[str] = (), environment: Mapping[str, str] | None = None):
        self.control, theirs = socket.socketpair()
        self.process = _start(theirs, environment, FORK, *warm)

    def child(self) -> tuple[socket.socket, int]:
        """The socket of a new child, and its process id. Raises ChildError."""
        connection = fork_server.connect(self.control)
        self.control.settimeout(STARTING)
        number = self.control.recv(16)
        if not number:
            raise ChildError("the process that makes children is gone")
        return connection, int(number)

    def close(self) -> None:
        """End the process."""
        self.control.close()
        self.process.wait()

    def __enter__(self) -> AnswerForkServer:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class RemoteAnswer(Answer):
    """The answer of a child process. To be closed, or used as a context manager."""

    def __init__(
        self,
        loader: Loader,
        server: AnswerForkServer | None = None,
        environment: Mapping[str, str] | None = None,
    ):
        self.process: subprocess.Popen | None = None
        self.elsewhere = self.taken = 0.0
        if server is not None:
            connection, self.number = server.child()
        else:
            connection, theirs = socket.socketpair()
            self.process = _start(theirs, environment)
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
        return str(self._ask_optional("misfit", name, list(arguments)) or "")

    def sections(self) -> tuple[Section, ...]:
        found = self._ask_optional("sections")
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
        kill_group(self.number)
        if self.process is not None:
            self.process.wait()

    def __enter__(self) -> RemoteAnswer:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _ask_optional(self, what: str, *arguments: Any) -> Any:
        """The answer to an optional question; None if the child is gone."""
        try:
            return self._ask(STARTING, what, *arguments)
        except (OSError, EOFError, Malformed, ChildError):
            return None

    def _ask(self, seconds: float, what: str, *arguments: Any) -> Any:
        self.channel.connection.settimeout(seconds)
        self.channel.send((what, *arguments))
        message, value = self.channel.receive(time.monotonic() + seconds)
        if message != "done":
            raise ChildError(str(value))
        return value


def _ended(kind: str, status: Status, sentence: str) -> Evidence:
    return Evidence(raised=Raised(kind, sentence, status, sentence))


def _start(theirs: socket.socket, environment: Mapping[str, str] | None, *mode: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "flashlearn.running.remote_child", str(theirs.fileno()), *mode]
    return start_with_socket(command, theirs, os.environ if environment is None else environment)
