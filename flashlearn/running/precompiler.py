"""Compile what a launcher is about to launch, many kernels at a time, before the first launch.

    >>> with Precompiling(patience=20.0) as precompiling:
    ...     with precompiling.dry():      # launches inside compile in the background, and nothing runs
    ...         softmax_forward(s)   # what it returns means nothing
    >>> with precompiling.refusing():     # a kernel on which the compiler died is refused, not compiled again
    ...     softmax_forward(s)

Triton compiles at a kernel's first launch for each set of types, divisibilities and constants, one after
another, in the learner's own process; where its compiler fails an assertion, that process is gone. Here each
distinct kernel is compiled by a forked process, which needs no copy of the learner's code and takes a crash
with it. Only triton's cache on disk is filled: the real launch makes its own key, finds the binary, and
where nothing was found compiles as ever. So a failure here costs time and nothing else, and whatever the
compiler has to say about a kernel is said at the real launch, by the real launch.
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Set
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from flashlearn.compiler.sources import is_gluon, source_of
from flashlearn.interpreter.errors import KernelCrash
from flashlearn.interpreter.specialization import specialize
from flashlearn.running.background_compiler import compile_into_cache, key

MOST = 16  # processes
NEEDED = {"key", "signature", "constexprs", "options", "attrs"}
DEATHS = {-getattr(signal, name, 0) for name in ("SIGABRT", "SIGSEGV", "SIGILL", "SIGBUS", "SIGFPE")} - {0}
DIED = (
    "Triton's compiler crashed on {name}, with these types and constants: it failed one of its own "
    "assertions. It ran in a process of its own, so nothing is lost; launched outside a check, this kernel "
    "would end your session. Write the same in another way: a for loop in place of a while, for instance."
)


class Precompiling:
    """Collects the launches of dry runs and compiles each distinct one once. `compiled` counts them.

    On leaving the block it waits for the compiler, `patience` seconds at most, and then ends it. Launches
    whose keys are `ready` were compiled before (flashlearn.running.background_compiler).
    """

    def __init__(self, patience: float, ready: Set[str] = frozenset()):
        self.patience = patience
        self.ready = ready
        self.futures: dict[tuple[int, Any], Future[int | None]] = {}
        self._pool = ThreadPoolExecutor(min(MOST, os.cpu_count() or 1), "flashlearn-precompiling")
        self._running: set[multiprocessing.process.BaseProcess] = set()
        self._quiet = contextlib.ExitStack()
        self.met_gluon = False  # whether a launch was a Gluon kernel's

    @property
    def compiled(self) -> int:
        """Kernels that are in triton's cache now, of those that were met."""
        return sum(code == 0 for code in self._codes().values())

    @property
    def died(self) -> set[tuple[int, Any]]:
        """Kernels, as (id, triton's key), on which the compiler died."""
        return {name for name, code in self._codes().items() if code in DEATHS}

    def _codes(self) -> dict[tuple[int, Any], int | None]:
        over = {name: f for name, f in self.futures.items() if f.done() and not f.cancelled()}
        return {name: f.result() if f.exception() is None else None for name, f in over.items()}

    def __enter__(self) -> Precompiling:
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
        """Launches inside the block run nothing: the compiler gets what it would have compiled for them."""
        compile_for = getattr(JITFunction, "_do_compile", None)
        if compile_for is None or not NEEDED <= set(inspect.signature(compile_for).parameters):
            yield  # another triton: the launches inside happen, compiled one by one
            return
        run_kernel, described = JITFunction.run, inspect.signature(compile_for)

        def instead(kernel: JITFunction, *args: Any, **kwargs: Any) -> None:
            self._submit(kernel, described.bind(kernel, *args, **kwargs).arguments)

        def run(kernel: JITFunction, *args: Any, **kwargs: Any) -> None:
            self.met_gluon = self.met_gluon or is_gluon(kernel)
            if self.ready and self._is_ready(kernel, args, kwargs):
                return
            run_kernel(kernel, *args, **{**kwargs, "warmup": True})

        def run_autotuned(tuner: Autotuner, *args: Any, **kwargs: Any) -> None:
            for config in tuner.configs:  # nothing is timed: the tuner must not remember times of no work
                tuner.fn.run(*args, **{**kwargs, **config.all_kwargs()})

        with (
            _replaced(JITFunction, "run", run),
            _replaced(JITFunction, "_do_compile", instead),
            _replaced(Autotuner, "run", run_autotuned),
        ):
            yield

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Launches inside the block raise KernelCrash where the compiler died on the same kernel."""
        died = self.died
        if not died:
            yield
            return
        compile_for = JITFunction._do_compile
        described = inspect.signature(compile_for)

        def instead(kernel: JITFunction, *args: Any, **kwargs: Any) -> Any:
            if (id(kernel), described.bind(kernel, *args, **kwargs).arguments["key"]) in died:
                raise KernelCrash(DIED.format(name=kernel.fn.__name__))
            return compile_for(kernel, *args, **kwargs)

        with _replaced(JITFunction, "_do_compile", instead):
            yield

    def _is_ready(self, kernel: JITFunction, args: tuple, kwargs: dict[str, Any]) -> bool:
        given = {name: value for name, value in kwargs.items() if name not in ("grid", "warmup")}
        bound = specialize(kernel, args, given)
        return bound is not None and key(bound) in self.ready

    def _submit(self, kernel: JITFunction, found: dict[str, Any]) -> None:
        name = (id(kernel), found["key"])
        if name in self.futures:
            return
        source = source_of(kernel, found["signature"], found["constexprs"], found["attrs"])
        source.hash()  # walks what the kernel refers to, and remembers it: not in two threads at once
        target = driver.active.get_current_target()

        def work() -> None:
            compile_into_cache(source, target, found["options"])

        self.futures[name] = self._pool.submit(self._apart, work)

    def _apart(self, work: Callable[[], None]) -> int | None:
        """Do the work in a forked process, if there is such a thing here; its exit code."""
        if "fork" not in multiprocessing.get_all_start_methods():
            work()
            return 0
        child = multiprocessing.get_context("fork").Process(target=_and_exit, args=(work,), daemon=True)
        child.start()
        self._running.add(child)
        try:
            child.join()
            return child.exitcode
        finally:
            self._running.discard(child)


def _and_exit(work: Callable[[], None]) -> None:
    """In the forked process: work, in silence, and end without what the parent does at its end."""
    code = 1
    try:
        faulthandler.disable()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
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
