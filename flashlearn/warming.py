"""Compile what a launcher is about to launch, many kernels at a time, before the first launch.

    >>> with Warming(patience=20.0) as warming:
    ...     with warming.dry():      # launches inside compile in the background, and nothing runs
    ...         softmax_forward(s)   # what it returns means nothing

Triton compiles at a kernel's first launch for each set of types, divisibilities and constants, one after
another; most of that time the compiler holds no interpreter lock (its own AsyncCompileMode uses threads
too). Here only triton's cache on disk is filled: the real launch makes its own key, finds the binary, and
where nothing was found compiles as ever. So a failure here costs time and nothing else, and whatever the
compiler has to say about a kernel is said at the real launch, by the real launch.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import triton
from triton.compiler import ASTSource
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

MOST = 16  # threads
NEEDED = {"key", "signature", "constexprs", "options", "attrs"}


class Warming:
    """Collects the launches of dry runs and compiles each distinct one once. `compiled` counts them.

    On leaving the block it waits for the compiler, `patience` seconds at most.
    """

    def __init__(self, patience: float):
        self.patience = patience
        self.futures: dict[tuple[int, Any], Future[Any]] = {}
        self._pool = ThreadPoolExecutor(min(MOST, os.cpu_count() or 1), "flashlearn-warming")

    @property
    def compiled(self) -> int:
        """Kernels that are in triton's cache now, of those that were met."""
        return sum(f.done() and not f.cancelled() and f.exception() is None for f in self.futures.values())

    def __enter__(self) -> Warming:
        return self

    def __exit__(self, *_error: object) -> None:
        try:
            wait(self.futures.values(), self.patience)
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    @contextlib.contextmanager
    def dry(self) -> Iterator[None]:
        """Launches inside the block run nothing: the compiler gets what it would have compiled for them."""
        compile_for = getattr(JITFunction, "_do_compile", None)
        if compile_for is None or not NEEDED <= set(inspect.signature(compile_for).parameters):
            yield  # another triton: the launches inside happen, compiled one by one
            return
        originals = {(JITFunction, "run"): JITFunction.run, (Autotuner, "run"): Autotuner.run}
        originals[JITFunction, "_do_compile"] = compile_for
        described = inspect.signature(compile_for)

        def instead(kernel: JITFunction, *args: Any, **kwargs: Any) -> None:
            self._submit(kernel, described.bind(kernel, *args, **kwargs).arguments)

        def run(kernel: JITFunction, *args: Any, **kwargs: Any) -> None:
            originals[JITFunction, "run"](kernel, *args, **{**kwargs, "warmup": True})

        def run_autotuned(tuner: Autotuner, *args: Any, **kwargs: Any) -> None:
            for config in tuner.configs:  # nothing is timed: the tuner must not remember times of no work
                tuner.fn.run(*args, **{**kwargs, **config.all_kwargs()})

        try:
            JITFunction.run, JITFunction._do_compile, Autotuner.run = run, instead, run_autotuned
            yield
        finally:
            for (owner, name), original in originals.items():
                setattr(owner, name, original)

    def _submit(self, kernel: JITFunction, found: dict[str, Any]) -> None:
        name = (id(kernel), found["key"])
        if name in self.futures:
            return
        source = ASTSource(kernel, found["signature"], found["constexprs"], found["attrs"])
        source.hash()  # walks what the kernel refers to, and remembers it: not in two threads at once
        target = driver.active.get_current_target()
        self.futures[name] = self._pool.submit(
            triton.compile, source, target=target, options=found["options"].__dict__
        )
