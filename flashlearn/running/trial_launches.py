"""Compiled Gluon launches, each tried in a child process before it happens in this one.

    >>> with TrialLaunches() as trials:
    ...     with trials.dry():
    ...         matmul(a, b)          # each Gluon launch happens in the child, which is killed if it hangs
    >>> with trials.refusing():
    ...     matmul(a, b)              # launches happen here; one that hung in the child raises KernelCrash

Partitions that wait for one another may hang, and a kernel that hangs on a GPU takes its process with it.
The observed run found no deadlock in the orders that it tried; here the compiled kernel is tried. A child
process (`trial_child.py`) gets the kernel as text (flashlearn.compiler.packing) with copies of the tensors,
launches it, and is killed if it does not answer in time. Launches that are alike are tried once.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from triton.runtime.jit import JITFunction

from flashlearn.compiler import packing
from flashlearn.interpreter.arguments import bind, check_grid, describe_launch
from flashlearn.interpreter.errors import KernelCrash
from flashlearn.interpreter.specialization import is_gluon, specialize
from flashlearn.running.trial_child import HEAD

COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", "flashlearn.running.trial_child")
STARTING = 120.0
"""Seconds in which the process imports what it needs and compiles the kernel."""
RUNNING = 10.0
"""Seconds in which a launch ends: a kernel of a check takes milliseconds."""
HUNG = (
    "The compiled `{name}` did not finish on this GPU within {seconds:g} s: its partitions wait for one "
    "another. In the observed run it finished. It was launched in a child process first, which was killed: "
    "your session is not affected."
)

_log = logging.getLogger("flashlearn.trials")


class TrialLaunches:
    """The child process, started with the first launch, and the results of trials. To be closed."""

    def __init__(
        self, command: Sequence[str] = COMMAND, starting: float = STARTING, running: float = RUNNING
    ):
        self.command, self.starting, self.running = tuple(command), starting, running
        self.known: dict[str, str] = {}  # by launch: "", or why it must not happen
        self._child: subprocess.Popen | None = None

    @contextlib.contextmanager
    def dry(self) -> Iterator[None]:
        """Gluon launches inside the block happen in the child process, others do not; none raises."""

        def run(kernel: JITFunction, *args: Any, **kwargs: Any) -> None:
            if is_gluon(kernel) and not kwargs.get("warmup"):
                with contextlib.suppress(KernelCrash):
                    self.refuse(kernel, args, dict(kwargs))

        with _replaced_run(run):
            yield

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Launches inside the block raise KernelCrash if one like them hung in the child process."""
        if not any(self.known.values()):
            yield
            return
        original = JITFunction.run

        def run(kernel: JITFunction, *args: Any, **kwargs: Any) -> Any:
            if is_gluon(kernel) and not kwargs.get("warmup"):
                self.refuse(kernel, args, dict(kwargs))
            return original(kernel, *args, **kwargs)

        with _replaced_run(run):
            yield

    def refuse(self, kernel: JITFunction, args: tuple, kwargs: dict[str, Any]) -> None:
        """Try a launch, unless one like it was tried. Raises KernelCrash if it hangs."""
        grid = kwargs.pop("grid")
        kwargs.pop("warmup", None)
        values, options = bind(kernel.fn, args, kwargs)
        shape = check_grid(grid, values)
        bound = specialize(kernel, args, kwargs)
        launch = describe_launch(kernel, kernel.fn, values, shape, options, bound)
        try:
            job = packing.pack(launch)
        except packing.PackingError as error:
            _log.warning("%s is not tried in a child process: %s", launch.name, error)
            return
        name = json.dumps([job, shape, [_signature(value) for value in values.values()]], sort_keys=True)
        if name not in self.known:
            given = {key: value for key, value in values.items() if key not in job["constexprs"]}
            self.known[name] = self._try(launch.name, {"job": job, "grid": shape, "values": given})
        if self.known[name]:
            raise KernelCrash(self.known[name])

    def _try(self, name: str, task: dict[str, Any]) -> str:
        """Why a launch must not happen; "" if it may. One that fails without hanging fails here again."""
        packed = io.BytesIO()
        torch.save(task, packed)
        try:
            child = self._start()
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

    def _start(self) -> subprocess.Popen:
        if self._child is None:
            self._child = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        return self._child

    def _line(self, patience: float) -> str | None:
        """A line from the child; None if none comes in time. Raises EOFError if the child is gone."""
        until, line = time.monotonic() + patience, b""
        while not line.endswith(b"\n"):
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._child.stdout], [], [], left)[0]:
                return None
            piece = self._child.stdout.read(1)
            if not piece:
                raise EOFError
            line += piece
        return line.decode().strip()

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()

    def __enter__(self) -> TrialLaunches:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


@contextlib.contextmanager
def _replaced_run(run: Callable[..., Any]) -> Iterator[None]:
    original = JITFunction.run
    JITFunction.run = run
    try:
        yield
    finally:
        JITFunction.run = original


def _signature(value: Any) -> Any:
    """The properties of an argument that decide how a kernel runs, without a tensor's values."""
    value = getattr(value, "base", value)
    if isinstance(value, torch.Tensor):
        return [str(value.dtype), list(value.shape), list(value.stride())]
    return value if isinstance(value, bool | int | float | str | None) else str(value)[:200]
