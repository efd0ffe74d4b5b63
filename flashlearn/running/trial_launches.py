"""Compiled Gluon launches, each tried in a child process before it happens in this one.

    >>> trials = TrialLaunches()
    >>> with trials.dry():
    ...     matmul(a, b)              # each Gluon launch happens in the child, which is killed if it hangs
    >>> with trials.refusing():
    ...     matmul(a, b)              # launches happen here; one that hung in the child raises KernelCrash

Partitions that wait for one another may hang, and a kernel that hangs on a GPU takes its process with it.
The observed run found no deadlock in the orders that it tried; here the compiled kernel is tried. A child
process (`trial_process.py`) gets what triton has compiled with copies of the tensors, launches it, and is
killed if it does not answer in time. Launches that are alike are tried once.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from triton.compiler import CompiledKernel
from triton.runtime.jit import JITFunction

from flashlearn.interpreter.arguments import bind, check_grid
from flashlearn.interpreter.errors import KernelCrash
from flashlearn.interpreter.specialization import is_gluon
from flashlearn.running.trial_process import TrialProcess, shared

HUNG = (
    "The compiled `{name}` did not finish on this GPU within {seconds:g} s: its partitions wait for one "
    "another. In the observed run it finished. It was launched in a child process first, which was killed: "
    "your session is not affected."
)

_log = logging.getLogger("flashlearn.trials")


class TrialLaunches:
    """The results of trials in one child process, by default that of the session."""

    def __init__(self, process: TrialProcess | None = None):
        self.process = process or shared()
        self.known: dict[str, str] = {}  # by launch: "", or why it must not happen

    @contextlib.contextmanager
    def dry(self) -> Iterator[None]:
        """Gluon launches inside the block happen in the child process, others do not; none hangs."""
        launch = JITFunction.run

        def run(kernel: JITFunction, *args: Any, **kwargs: Any) -> None:
            if is_gluon(kernel) and not kwargs.get("warmup"):
                with contextlib.suppress(KernelCrash):
                    self.refuse(launch, kernel, args, dict(kwargs))

        with _replaced_run(run):
            yield

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Launches inside the block raise KernelCrash if one like them hung in the child process."""
        if not any(self.known.values()):
            yield
            return
        launch = JITFunction.run

        def run(kernel: JITFunction, *args: Any, **kwargs: Any) -> Any:
            if is_gluon(kernel) and not kwargs.get("warmup"):
                self.refuse(launch, kernel, args, dict(kwargs))
            return launch(kernel, *args, **kwargs)

        with _replaced_run(run):
            yield

    def refuse(
        self, launch: Callable[..., Any], kernel: JITFunction, args: tuple, kwargs: dict[str, Any]
    ) -> None:
        """Try a launch, unless one like it was tried. Raises KernelCrash if it hangs.

        `launch` is triton's own, which compiles the kernel here if it is not in triton's cache, and raises
        what the launch itself will raise.
        """
        compiled = launch(kernel, *args, **{**kwargs, "warmup": True})
        if not isinstance(compiled, CompiledKernel):
            _log.warning("%s is not tried in a child process: nothing was compiled", kernel.fn.__name__)
            return
        grid = kwargs.pop("grid")
        kwargs.pop("warmup", None)
        values, _ = bind(kernel.fn, args, kwargs)
        shape = check_grid(grid, values)
        alike = [compiled.hash, shape, [_properties(value) for value in values.values()]]
        name = json.dumps(alike, sort_keys=True)
        if name not in self.known:
            self.known[name] = self._try(kernel.fn.__name__, _task(compiled, shape, values))
        if self.known[name]:
            raise KernelCrash(self.known[name])

    def _try(self, name: str, task: dict[str, Any]) -> str:
        """Why a launch must not happen; "" if it may. One that fails without hanging fails here again."""
        try:
            answer = self.process.answer(task)
        except (OSError, EOFError):
            _log.warning("the process that tries launches ended, or could not be started")
            return ""
        return HUNG.format(name=name, seconds=self.process.running) if answer == "hung" else ""


def _task(compiled: CompiledKernel, grid: Sequence[int], values: dict[str, Any]) -> dict[str, Any]:
    """A launch as data: what was compiled, and its arguments in their order, without constants."""
    source = compiled.src
    types = [source.signature.get(name, "constexpr") for name in values]
    return {
        "files": dict(compiled.metadata_group),
        "hash": compiled.hash,
        "signature": dict(source.signature),
        "constants": {path: _plain(value) for path, value in source.constants.items()},
        "grid": tuple(grid),
        "values": [_argument(*pair) for pair in zip(values.values(), types, strict=True)],
    }


def _argument(value: Any, type: Any) -> Any:
    """An argument as the compiled kernel takes it: constants are part of the kernel."""
    if isinstance(type, tuple):
        return tuple(_argument(*pair) for pair in zip(value, type, strict=True))
    return _plain(value) if type == "constexpr" else value


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else None


@contextlib.contextmanager
def _replaced_run(run: Callable[..., Any]) -> Iterator[None]:
    original = JITFunction.run
    JITFunction.run = run
    try:
        yield
    finally:
        JITFunction.run = original


def _properties(value: Any) -> Any:
    """The properties of an argument that decide how a kernel runs, without a tensor's values."""
    value = getattr(value, "base", value)
    if isinstance(value, torch.Tensor):
        return [str(value.dtype), list(value.shape), list(value.stride())]
    return value if isinstance(value, bool | int | float | str | None) else str(value)[:200]
