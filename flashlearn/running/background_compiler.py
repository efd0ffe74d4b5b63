"""Kernels compiled while the observed run is going, by a process that asks the launcher what it launches.

    >>> with CompilingAhead(caller, draws, device.capability()) as ahead:
    ...     ...                                   # the observed run, on one core
    ...     ready = ahead.ready(patience=20.0)    # the keys of launches whose kernels lie in triton's cache

A forked process calls the launcher with each draw's shapes, notes what it would launch, and has each distinct
kernel compiled by a process of its own. Neither the GPU nor the learner's session notices: what the
launcher keeps, what it raises and what crashes a compiler goes with these processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime import driver

from flashlearn.compiler.sources import source_of
from flashlearn.exercise import Inputs
from flashlearn.interpreter.dry_run import planned
from flashlearn.interpreter.specialization import TARGET, Specialization
from flashlearn.processes.forked import Forked

if TYPE_CHECKING:
    from flashlearn.running.observed_run import Caller

MOST = 16  # processes
SECONDS = 120  # of a processor, for the process that asks and starts the others
PLAN = 2.0  # seconds for one call of the launcher, which launches nothing


class CompilingAhead:
    """The processes of one check. On leaving the block they are ended, finished or not."""

    def __init__(self, caller: Caller, draws: Sequence[Inputs], target: int | None):
        """Begin, if kernels bound here are those of the GPU of capability `target`; else do nothing."""
        self._forked: Forked | None = None
        if target != TARGET:
            return
        with contextlib.suppress(RuntimeError):
            driver.active.get_current_target()  # the driver is made once, and here
        with contextlib.suppress(OSError):
            self._forked = Forked(lambda send: _work(caller, draws, send), SECONDS)

    def ready(self, patience: float) -> set[str]:
        """The keys of launches whose kernels are compiled; waits for those that are not yet."""
        return set(self._forked.answers(patience)) if self._forked is not None else set()

    def close(self) -> None:
        """End the processes."""
        if self._forked is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._forked.number, signal.SIGKILL)
            self._forked.close()
            self._forked = None

    def __enter__(self) -> CompilingAhead:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def key(launch: Specialization) -> str:
    """What is equal for launches that compile to one kernel, in this process and in one forked from it."""
    told = launch.signature, launch.constexprs, launch.attributes, launch.options
    return repr((id(launch.kernel), *told))


def _work(caller: Caller, draws: Sequence[Inputs], send: Callable[[Any], None]) -> None:
    """In the forked process: plan every draw, and have compiled what is new."""
    os.setpgid(0, 0)
    torch.cuda.is_available = lambda: False  # the GPU is the parent's, and a fork cannot have it
    running: dict[int, str] = {}
    known: set[str] = set()
    for inputs in draws:
        for launch in _plan(caller, inputs):
            if (name := key(launch)) in known:
                continue
            known.add(name)
            if len(running) >= min(MOST, os.cpu_count() or 1):
                _one_ends(running, send)
            running[_start(launch)] = name
    while running:
        _one_ends(running, send)


def _plan(caller: Caller, inputs: Inputs) -> list[Specialization]:
    """What the launcher launches; nothing where it looks at data: the real run compiles that."""
    try:
        launches = planned(caller.call, dict(inputs), PLAN)
    except BaseException:  # whatever it is, the observed run meets it too, and says so
        return []
    return [one.specialised for one in launches if one.specialised is not None]


def _start(launch: Specialization) -> int:
    """The number of a process that compiles the launch's kernel."""
    number = os.fork()
    if number == 0:
        code = 1
        try:
            source = source_of(launch.kernel, launch.signature, launch.constexprs, launch.attributes)
            compile_into_cache(source, GPUTarget("cuda", TARGET, 32), launch.options)
            code = 0
        finally:
            os._exit(code)
    return number


def _one_ends(running: dict[int, str], send: Callable[[Any], None]) -> None:
    try:
        number, status = os.wait()
    except ChildProcessError:  # nobody hears of their end where signals of it are ignored
        running.clear()
        return
    name = running.pop(number)
    if os.waitstatus_to_exitcode(status) == 0:
        send(name)


def compile_into_cache(source: ASTSource, target: GPUTarget, options: Any) -> None:
    """Fill triton's cache on disk with a kernel and with what its launch needs beside it."""
    made = triton.compile(source, target=target, options=options.__dict__)
    with contextlib.suppress(Exception):  # where a launch takes a module in C, it is made here too
        driver.active.launcher_cls(made.src, made.metadata)
