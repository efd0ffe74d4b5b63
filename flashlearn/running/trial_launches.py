"""A compiled Gluon launch, tried in a process of its own before it happens in this one.

    >>> with Trials() as trials:
    ...     with trials.dry():
    ...         matmul(a, b)          # each Gluon launch happens elsewhere, and is ended if it hangs
    >>> with trials.refusing():
    ...     matmul(a, b)              # here they happen; one that hung there raises KernelCrash

Partitions that wait for one another may hang, and a kernel that hangs on a GPU takes the process with it.
What was observed had none of that in the orders that were tried; what the compiler made of it is tried here:
a process of its own gets the kernel as text (flashlearn.compiler.packing) with copies of the tensors,
launches it, and is ended if it does not answer in time. Launches that are alike are tried once.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import select
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from triton.runtime.jit import JITFunction

from flashlearn.compiler import packing
from flashlearn.compiler.sources import is_gluon
from flashlearn.interpreter.arguments import bind, check_grid, describe_launch
from flashlearn.interpreter.errors import KernelCrash
from flashlearn.interpreter.specialization import specialize

COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", "flashlearn.running.trial_child")
STARTING = 120.0
"""Seconds in which the process imports what it needs and compiles the kernel."""
RUNNING = 10.0
"""Seconds in which a launch ends: a kernel of a check takes milliseconds."""
HUNG = (
    "Compiled, `{name}` did not come to its end on this GPU within {seconds:g} s: its partitions wait for "
    "one "
    "another. Observed, it ended. It was launched in a process of its own first, which was ended: nothing of "
    "your "
    "session is lost."
)
HEAD = struct.Struct("!Q")

_log = logging.getLogger("flashlearn.trials")


class Trials:
    """The process, started with the first launch, and what is known of launches. To be closed."""

    def __init__(
        self, command: Sequence[str] = COMMAND, starting: float = STARTING, running: float = RUNNING
    ):
        self.command, self.starting, self.running = tuple(command), starting, running
        self.known: dict[str, str] = {}  # by what a launch is: nothing, or why it does not happen
        self._child: subprocess.Popen | None = None

    @contextlib.contextmanager
    def dry(self) -> Iterator[None]:
        """Gluon launches inside the block happen in the other process, others nowhere; none raises."""

        def run(kernel: JITFunction, *args: Any, **kwargs: Any) -> None:
            if is_gluon(kernel) and not kwargs.get("warmup"):
                with contextlib.suppress(KernelCrash):
                    self.refuse(kernel, args, dict(kwargs))

        with _running_instead(run):
            yield

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Launches inside the block raise KernelCrash where one like them did not end elsewhere."""
        if not any(self.known.values()):
            yield
            return
        original = JITFunction.run

        def run(kernel: JITFunction, *args: Any, **kwargs: Any) -> Any:
            if is_gluon(kernel) and not kwargs.get("warmup"):
                self.refuse(kernel, args, dict(kwargs))
            return original(kernel, *args, **kwargs)

        with _running_instead(run):
            yield

    def refuse(self, kernel: JITFunction, args: tuple, kwargs: dict[str, Any]) -> None:
        """Try a launch, unless one like it was. Raises KernelCrash for one that does not end."""
        grid = kwargs.pop("grid")
        kwargs.pop("warmup", None)
        values, options = bind(kernel.fn, args, kwargs)
        shape = check_grid(grid, values)
        bound = specialize(kernel, args, kwargs)
        launch = describe_launch(kernel, kernel.fn, values, shape, options, bound)
        try:
            job = packing.pack(launch)
        except packing.Unshippable as error:
            _log.warning("%s is not tried in a process of its own: %s", launch.name, error)
            return
        name = json.dumps([job, shape, [_figures(value) for value in values.values()]], sort_keys=True)
        if name not in self.known:
            given = {key: value for key, value in values.items() if key not in job["constexprs"]}
            self.known[name] = self._tried(launch.name, {"job": job, "grid": shape, "values": given})
        if self.known[name]:
            raise KernelCrash(self.known[name])

    def _tried(self, name: str, task: dict[str, Any]) -> str:
        """Nothing, or why a launch must not happen. What fails otherwise fails again, and says so, here."""
        packed = io.BytesIO()
        torch.save(task, packed)
        try:
            child = self._started()
            child.stdin.write(HEAD.pack(packed.tell()) + packed.getvalue())
            child.stdin.flush()
            if self._line(self.starting) != "ready":
                raise EOFError
            answer = self._line(self.running)
        except (OSError, EOFError):
            _log.warning("the process that tries launches ended, or could not be started")
            self.close()
            return ""
        if answer is None:
            self.close()
            return HUNG.format(name=name, seconds=self.running)
        if answer != "done":
            self.close()  # an error on a GPU stays with its process
        return ""

    def _started(self) -> subprocess.Popen:
        if self._child is None:
            self._child = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        return self._child

    def _line(self, patience: float) -> str | None:
        """A line from the child; None if none comes in time. Raises EOFError where it is gone."""
        until, said = time.monotonic() + patience, b""
        while not said.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._child.stdout], [], [], left)[0]:
                return None
            piece = self._child.stdout.read(1)
            if not piece:
                raise EOFError
            said += piece
        return said.decode().strip()

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()

    def __enter__(self) -> Trials:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


@contextlib.contextmanager
def _running_instead(run: Callable[..., Any]) -> Iterator[None]:
    original = JITFunction.run
    JITFunction.run = run
    try:
        yield
    finally:
        JITFunction.run = original


def _figures(value: Any) -> Any:
    """What of an argument decides how a kernel runs, short of its numbers."""
    value = getattr(value, "base", value)
    if isinstance(value, torch.Tensor):
        return [str(value.dtype), list(value.shape), list(value.stride())]
    return value if isinstance(value, bool | int | float | str | None) else str(value)[:200]
