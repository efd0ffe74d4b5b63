"""Compile what a launcher is about to launch, many kernels at a time, before the first launch.

    >>> with Precompiler(patience=20.0) as precompiler:
    ...     with precompiler.dry():       # launches inside compile in the background, and nothing runs
    ...         softmax_forward(s)        # what it returns is meaningless
    >>> with precompiler.refusing():      # a kernel that crashed the compiler is refused, not compiled again
    ...     softmax_forward(s)

Triton compiles at a kernel's first launch for each set of types, divisibilities and constants, one after
another, in the learner's own process; if the compiler fails an assertion, that process is gone. Here each
distinct kernel is compiled by a forked process, which needs no copy of the learner's code and contains a
crash. Only triton's cache on disk is filled: the real launch computes its own key, and finds the binary or
compiles as usual. So a failure here costs only time, and errors of the compiler are reported by the real
launch.
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import mmap
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping, Set
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction

from flashlearn.interpreter.errors import KernelCrash
from flashlearn.interpreter.specialization import Specialization, is_gluon, source_of, specialize
from flashlearn.machine import device
from flashlearn.processes.limits import silence
from flashlearn.running.background_compiler import TooLarge, compile_into_cache, key, needed_beyond

MOST = 16  # processes
NEEDED = {"key", "signature", "constexprs", "options", "attrs"}
DEATHS = {-getattr(signal, name, 0) for name in ("SIGABRT", "SIGSEGV", "SIGILL", "SIGBUS", "SIGFPE")} - {0}
DIED = (
    "Triton's compiler crashed on {name}, with these types and constants: it failed one of its own "
    "assertions. It ran in a process of its own, so nothing is lost; launched outside a check, this kernel "
    "would end your session. Write the same in another way: a for loop in place of a while, for instance."
)


class Precompiler:
    """Collects the launches of dry runs and compiles each distinct one once. `compiled` counts them.

    At the end of the block it waits for the compiler for at most `patience` seconds, and then kills it.
    Launches whose keys are in `ready` were compiled before (flashlearn.running.background_compiler); those in
    `too_large`, each with the bytes that a block needs, do not fit this GPU's shared memory, and are not.
    """

    def __init__(
        self, patience: float, ready: Set[str] = frozenset(), too_large: Mapping[str, int] | None = None
    ):
        self.patience = patience
        self.ready = ready
        self.too_large = dict(too_large or {})
        self._unfit: dict[tuple[int, Any], int] = {}
        self._needs: dict[tuple[int, Any], mmap.mmap] = {}  # what a process found a block to need
        self._limit = device.shared_per_block()
        self.futures: dict[tuple[int, Any], Future[int | None]] = {}
        self._pool = ThreadPoolExecutor(min(MOST, os.cpu_count() or 1), "flashlearn-precompiling")
        self._running: set[multiprocessing.process.BaseProcess] = set()
        self._quiet = contextlib.ExitStack()
        self._known = 0  # what a block of the kernel that is being launched needs, if it does not fit
        self.saw_gluon = False  # whether a Gluon kernel was launched

    @property
    def compiled(self) -> int:
        """How many of the kernels launched so far are in triton's cache now."""
        return sum(code == 0 for code in self._codes().values())

    @property
    def died(self) -> set[tuple[int, Any]]:
        """Kernels, as (id, triton's key), that crashed the compiler."""
        return {name for name, code in self._codes().items() if code in DEATHS}

    @property
    def unfit(self) -> dict[tuple[int, Any], int]:
        """Kernels, as (id, triton's key), that do not fit, with the bytes that a block needs."""
        sizes = {name: int.from_bytes(needs[:8], "little") for name, needs in self._needs.items()}
        return self._unfit | {name: size for name, size in sizes.items() if size}

    def _codes(self) -> dict[tuple[int, Any], int | None]:
        over = {name: f for name, f in self.futures.items() if f.done() and not f.cancelled()}
        return {name: f.result() if f.exception() is None else None for name, f in over.items()}

    def __enter__(self) -> Precompiler:
        self._quiet.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            wait(self.futures.values(), self.patience)
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)
            for child in list(self._running):
                child.kill()
            self._quiet.close()

    @contextlib.contextmanager
    def dry(self) -> Iterator[None]:
        """Launches inside the block run nothing: their kernels are compiled."""
        compile_for = getattr(JITFunction, "_do_compile", None)
        if compile_for is None or not NEEDED <= set(inspect.signature(compile_for).parameters):
            yield  # another triton: launches happen, and are compiled one by one
            return
        run_kernel, described = JITFunction.run, inspect.signature(compile_for)

        def submit(kernel: JITFunction, *args: Any, **kwargs: Any) -> None:
            self._submit(kernel, described.bind(kernel, *args, **kwargs).arguments)

        def run(kernel: JITFunction, *args: Any, **kwargs: Any) -> None:
            self.saw_gluon = self.saw_gluon or is_gluon(kernel)
            name = self._key(kernel, args, kwargs) if self.ready or self.too_large else ""
            if name in self.ready:
                return
            self._known = self.too_large.get(name, 0)
            run_kernel(kernel, *args, **{**kwargs, "warmup": True})

        def run_autotuned(tuner: Autotuner, *args: Any, **kwargs: Any) -> None:
            for config in tuner.configs:  # not timed: the tuner must not cache the times of empty runs
                tuner.fn.run(*args, **{**kwargs, **config.all_kwargs()})

        with (
            _replaced(JITFunction, "run", run),
            _replaced(JITFunction, "_do_compile", submit),
            _replaced(Autotuner, "run", run_autotuned),
        ):
            yield

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Launches inside the block raise KernelCrash if the same kernel crashed the compiler.

        They raise triton's OutOfResources if it does not fit.
        """
        died, unfit = self.died, self.unfit
        if not died and not unfit:
            yield
            return
        compile_for = JITFunction._do_compile
        described = inspect.signature(compile_for)

        def compile_or_refuse(kernel: JITFunction, *args: Any, **kwargs: Any) -> Any:
            name = (id(kernel), described.bind(kernel, *args, **kwargs).arguments["key"])
            if name in unfit:
                raise OutOfResources(unfit[name], self._limit, "shared memory")
            if name in died:
                raise KernelCrash(DIED.format(name=kernel.fn.__name__))
            return compile_for(kernel, *args, **kwargs)

        with _replaced(JITFunction, "_do_compile", compile_or_refuse):
            yield

    def _key(self, kernel: JITFunction, args: tuple, kwargs: dict[str, Any]) -> str:
        """The key of a launch for `ready`; empty if it cannot be known."""
        given = {name: value for name, value in kwargs.items() if name not in ("grid", "warmup")}
        bound = specialize(kernel, args, given)
        return key(bound) if bound is not None else ""

    def _submit(self, kernel: JITFunction, found: dict[str, Any]) -> None:
        name = (id(kernel), found["key"])
        if name in self.futures or name in self._unfit:
            return
        if self._known:
            self._unfit[name] = self._known
            return
        source = source_of(kernel, found["signature"], found["constexprs"], found["attrs"])
        source.hash()  # walks and caches what the kernel refers to: not in two threads at once
        target = driver.active.get_current_target()
        bound = Specialization(
            kernel, found["signature"], found["constexprs"], found["attrs"], found["options"], name
        )
        found_size = self._needs[name] = mmap.mmap(-1, 8)

        def work() -> None:
            needs = needed_beyond(self._limit, bound, target.arch)
            if needs is not None:
                found_size[:8] = needs.to_bytes(8, "little")
                raise TooLarge
            compile_into_cache(source, target, found["options"])

        self.futures[name] = self._pool.submit(self._in_fork, work)

    def _in_fork(self, work: Callable[[], None]) -> int | None:
        """Do the work in a forked process, where there is fork; its exit code."""
        if "fork" not in multiprocessing.get_all_start_methods():
            work()
            return 0
        child = multiprocessing.get_context("fork").Process(target=_work_and_exit, args=(work,), daemon=True)
        child.start()
        self._running.add(child)
        try:
            child.join()
            return child.exitcode
        finally:
            self._running.discard(child)


def _work_and_exit(work: Callable[[], None]) -> None:
    """In the forked process: do the work without output, and exit without the parent's exit handlers."""
    code = 1
    try:
        faulthandler.disable()
        silence()
        work()
        code = 0
    finally:
        os._exit(code)


@contextlib.contextmanager
def _replaced(owner: type, name: str, value: Callable) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, original)
