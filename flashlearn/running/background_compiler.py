"""Kernels compiled in the background during the observed run, by a fork that calls the launcher dry.

    >>> with BackgroundCompiler(caller, draws, device.capability()) as compiler:
    ...     ...                                    # the observed run, on one core
    ...     ready, too_large = compiler.ready(patience=20.0)

A forked process calls the launcher with each draw's shapes, notes what it would launch, and has each
distinct kernel compiled by a child process, the longest first, unless a block of it needs more shared memory
than it can have. Neither the GPU nor the learner's session is affected: what the launcher caches, what it
raises, and a crash of the compiler end with these processes.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime import driver

from flashlearn.compiler.shared_memory import bound, needed
from flashlearn.exercise import Inputs
from flashlearn.interpreter.dry_run import planned
from flashlearn.interpreter.specialization import TARGET, Specialization, is_gluon, source_of
from flashlearn.machine import device
from flashlearn.observation import Compiling
from flashlearn.processes.forked import Forked, fork
from flashlearn.processes.limits import kill_group

if TYPE_CHECKING:
    from flashlearn.running.observed_run import Caller

MOST = 16  # processes
SECONDS = 120  # of a processor, for the process that asks and starts the others
PLAN = 2.0  # seconds for one call of the launcher, which launches nothing


class BackgroundCompiler:
    """The processes of one check. After the block they are killed, finished or not.

    `watching` is called while it is waited for. `complete` says, after that, that every launch of every draw
    is known and compiled.
    """

    def __init__(
        self,
        caller: Caller,
        draws: Sequence[Inputs],
        target: int | None,
        watching: Callable[[Compiling], None] = lambda progress: None,
    ):
        """Start, if kernels are specialized here for the GPU of capability `target`; else do nothing."""
        self.watching = watching
        self.complete = False
        self._forked: Forked | None = None
        if target != TARGET:
            return
        with contextlib.suppress(RuntimeError):
            driver.active.get_current_target()  # create the driver once, before the fork
        with contextlib.suppress(OSError):
            limit = device.shared_per_block()
            self._forked = Forked(lambda send: _work(caller, draws, limit, send), SECONDS)

    def ready(self, patience: float) -> tuple[set[str], dict[str, int]]:
        """The keys of launches whose kernels are compiled, and of those that are not, since they do not fit.

        The latter with the bytes of shared memory that a block needs. Waits up to `patience` seconds.
        """
        found: set[str] = set()
        too_large: dict[str, int] = {}
        kernels, all_planned = 0, False
        for answer in self._forked.answers(patience) if self._forked is not None else ():
            if isinstance(answer, str):
                found.add(answer)
            elif isinstance(answer, dict):
                kernels, all_planned = answer["kernels"], answer["complete"]
            else:
                too_large.update([answer])
            self.watching(Compiling(len(found) + len(too_large), kernels))
        self.complete = all_planned and len(found) == kernels
        return found, too_large

    def close(self) -> None:
        """End the processes."""
        if self._forked is not None:
            kill_group(self._forked.number)
            self._forked.close()
            self._forked = None

    def __enter__(self) -> BackgroundCompiler:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def key(launch: Specialization) -> str:
    """Equal for launches that compile to one kernel, in this process and in one forked from it."""
    compiled_for = launch.signature, launch.constexprs, launch.attributes, launch.options
    return repr((id(launch.kernel), *compiled_for))


def _work(caller: Caller, draws: Sequence[Inputs], limit: int, send: Callable[[Any], None]) -> None:
    """In the forked process: plan every draw, say how many kernels there are, and compile each in a child."""
    os.setpgid(0, 0)
    torch.cuda.is_available = lambda: False  # CUDA cannot be used in a fork
    most = min(MOST, os.cpu_count() or 1)
    known: set[str] = set()
    waiting: dict[str, Specialization] = {}
    running: dict[int, str] = {}
    complete = True

    def start_longest() -> None:
        name = max(waiting, key=lambda one: weight(waiting[one]))
        running[_start(waiting.pop(name), limit, send)] = name

    for inputs in draws:
        plan = _plan(caller, inputs)
        complete = complete and plan is not None and None not in plan
        waiting |= {key(one): one for one in plan or () if one is not None and key(one) not in known}
        known |= waiting.keys()
        while waiting and len(running) < most:
            start_longest()
    send({"kernels": len(known), "complete": complete})
    while waiting or running:
        if len(running) >= most or not waiting:
            _wait_for_one(running, send)
        if waiting:
            start_longest()


def _plan(caller: Caller, inputs: Inputs) -> list[Specialization | None] | None:
    """What the launcher launches; None if it reads values, whose kernels the real run compiles."""
    try:
        return [one.specialised for one in planned(caller.call, dict(inputs), PLAN)]
    except BaseException:  # the observed run meets it too, and reports it
        return None


def weight(launch: Specialization) -> float:
    """How long compiling takes, compared with others: tiles count, and products in fp32 are unrolled."""
    sides = [value for value in launch.constexprs.values() if type(value) is int and value > 1]
    return math.prod(sides) * (8 if "*fp32" in list(launch.signature.values())[:1] else 1)


def _start(launch: Specialization, limit: int, send: Callable[[Any], None]) -> int:
    """The process id of a child that compiles the launch's kernel, or sends what it needs beyond `limit`."""

    def work() -> None:
        if (needs := needed_beyond(limit, launch, TARGET)) is not None:
            send((key(launch), needs))
            raise TooLarge
        source = source_of(launch.kernel, launch.signature, launch.constexprs, launch.attributes)
        compile_into_cache(source, GPUTarget("cuda", TARGET, 32), launch.options)

    return fork(work)


class TooLarge(Exception):
    """A kernel's blocks need more shared memory than there is."""


def needed_beyond(limit: int, launch: Specialization, target: int) -> int | None:
    """Bytes of shared memory of a block, if they are more than `limit`; None as well if that is not known."""
    try:
        if not is_gluon(launch.kernel) and bound(launch) <= limit:
            return None
        needs = needed(launch, target)
    except Exception:  # the compiler itself will say
        return None
    return needs if needs is not None and needs > limit else None


def _wait_for_one(running: dict[int, str], send: Callable[[Any], None]) -> None:
    try:
        number, status = os.wait()
    except ChildProcessError:  # reaped already: this process ignores SIGCHLD
        running.clear()
        return
    name = running.pop(number)
    if os.waitstatus_to_exitcode(status) == 0:
        send(name)


def compile_into_cache(source: ASTSource, target: GPUTarget, options: Any) -> None:
    """Fill triton's cache on disk with a kernel and with what its launch needs."""
    kernel = triton.compile(source, target=target, options=options.__dict__)
    with contextlib.suppress(Exception):  # if a launch needs a C module, it is built here too
        driver.active.launcher_cls(kernel.src, kernel.metadata)
