"""THE SEAM: a learner's function, run in a stated mode. Nothing else in the grader calls it.

    >>> answer = Here(softmax_forward, exercise)
    >>> evidence = answer.run(inputs, Observed(seed=3))
    >>> evidence.outputs[0].value                       # a tensor; evidence.raised, if it raised

Everything that is learned about a learner's function comes from an `Answer`. `Here` runs it in this process,
flashlearn.running.remote_answer in a child process; what comes back is the same plain data.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import inspect
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from flashlearn.exercise import Exercise, Inputs, Kind
from flashlearn.interpreter.deadline import Clock
from flashlearn.observation import Compiling
from flashlearn.running import formula_runs
from flashlearn.running.answer_source import Section, join, sections
from flashlearn.running.crashes import with_duration
from flashlearn.running.evidence import Evidence
from flashlearn.running.run_modes import Edited, PlainCall, RunMode

if TYPE_CHECKING:
    from flashlearn.running.caller import Caller
    from flashlearn.running.fitting import Drawing, Fitting
    from flashlearn.running.launcher_runs import LauncherRuns
    from flashlearn.running.launches import RunCache


@dataclass(frozen=True)
class Facts:
    """Facts about a function that need no call: its name, how it prints, whether it is jitted."""

    name: str
    text: str
    callable: bool
    kernel: bool


class Answer(abc.ABC):
    """A learner's function, in this process or another.

    `elsewhere` is the CPU time in seconds that its runs have taken in other processes, `taken` all the time
    that counts against a time limit: CPU time, and time asleep.
    """

    elsewhere: float
    taken: float

    @abc.abstractmethod
    def facts(self) -> Facts:
        """Facts that need no call."""

    @abc.abstractmethod
    def misfit(self, name: str, arguments: Sequence[str]) -> str:
        """A sentence if the function cannot take these arguments by position, else nothing."""

    @abc.abstractmethod
    def sections(self) -> tuple[Section, ...]:
        """Kernels and helpers that the launcher uses, then the launcher; empty if they cannot be read."""

    def source(self) -> str | None:
        """The sections as one text; None if they cannot be read."""
        return join(found) if (found := self.sections()) else None

    @abc.abstractmethod
    def run(self, inputs: Inputs, mode: RunMode) -> Evidence:
        """One call. What the function raises is in the evidence; only the user's interrupt comes through."""

    def compiling(
        self, draws: Sequence[Inputs], watching: Callable[[Compiling], None] = lambda progress: None
    ) -> AbstractContextManager[Any]:
        """Within the block, what is launched for these inputs is compiled in the background.

        `watching` is called when that is waited for.
        """
        return contextlib.nullcontext()

    def fitting(self, draws: Sequence[Drawing]) -> AbstractContextManager[Fitting | None]:
        """Within the block it is found out whether what is launched for these inputs fits every GPU."""
        return contextlib.nullcontext()

    def ready_peers(self, inputs: Inputs) -> None:  # noqa: B027 - nothing to do elsewhere
        """Call what the answer will be timed beside, so that its first call is not timed."""

    @abc.abstractmethod
    def prepared(self, draws: Sequence[Inputs], limit: float) -> AbstractContextManager[None]:
        """Within the block, compiled runs on these inputs find their kernels compiled."""


class Here(Answer):
    """A function in this process. `exercise` says how to call it, if not with the inputs alone.

    A formula is simply called; how everything else is run is in flashlearn.running.launcher_runs, which needs
    torch and triton and is imported when it is first asked.
    """

    def __init__(self, function: Callable[..., Any], exercise: Exercise | None = None):
        self.function = function
        self.exercise = exercise
        self.elsewhere = self.taken = 0.0
        self._sections: tuple[Section, ...] | None = None

    @functools.cached_property
    def _launcher(self) -> LauncherRuns:
        from flashlearn.running.launcher_runs import LauncherRuns

        return LauncherRuns(self.function, self.exercise, self.sections)

    @property
    def cache(self) -> RunCache:
        """What the runs so far have launched."""
        return self._launcher.cache

    def facts(self) -> Facts:
        kernel = hasattr(self.function, "fn") and hasattr(self.function, "run")
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return Facts(str(name), f"{self.function!r:.200}", callable(self.function), kernel)

    def misfit(self, name: str, arguments: Sequence[str]) -> str:
        return call_sentence(name, self.function, arguments)

    def sections(self) -> tuple[Section, ...]:
        if self._sections is None:
            try:
                self._sections = tuple(sections(self.function))
            except (OSError, TypeError, SyntaxError, AttributeError):
                self._sections = ()
        return self._sections

    def run(self, inputs: Inputs, mode: RunMode) -> Evidence:
        started, clock = time.perf_counter(), Clock()
        evidence = self._run(inputs, mode)
        clock.tick()
        asleep = clock.slept if clock.knows_the_line else 0.0
        seconds = {"seconds": time.perf_counter() - started, "processor": clock.used(), "asleep": asleep}
        self.taken += clock.used() + asleep
        ended = evidence.raised and with_duration(evidence.raised, seconds["seconds"])
        return replace(evidence, raised=ended, **seconds)

    def _run(self, inputs: Inputs, how: RunMode) -> Evidence:
        if self.exercise is not None and self.exercise.kind is Kind.SYMBOLIC:
            if isinstance(how, PlainCall):
                return formula_runs.called(self.function, inputs, how)
            if isinstance(how, Edited):
                return formula_runs.edited(self.function, self.sections(), inputs, how)
        return self._launcher.run(inputs, how)

    def compiling(
        self, draws: Sequence[Inputs], watching: Callable[[Compiling], None] = lambda progress: None
    ) -> AbstractContextManager[None]:
        return self._launcher.compiling(draws, watching)

    def fitting(self, draws: Sequence[Drawing]) -> Fitting:
        return self._launcher.fitting(draws)

    def prepared(self, draws: Sequence[Inputs], limit: float) -> AbstractContextManager[None]:
        return self._launcher.prepared(draws, limit)

    def ready_peers(self, inputs: Inputs) -> None:
        self._launcher.ready_peers(inputs)

    def _caller(self) -> Caller:
        return self._launcher.caller()


def answering(exercise: Exercise, function: Answer | Callable[..., Any]) -> Answer:
    """The answer unchanged; a function of this process becomes one."""
    return function if isinstance(function, Answer) else Here(function, exercise)


def call_sentence(name: str, function: Callable[..., Any], arguments: Sequence[str]) -> str:
    """A sentence if `function` cannot take these arguments by position, else nothing."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*arguments)
    except TypeError:
        own = getattr(function, "__name__", "function")
        count = f"{len(arguments)} parameter{'s' if len(arguments) != 1 else ''}"
        wanted = f"{name}({', '.join(arguments)})"
        return f"Your {own}{signature} cannot be called as {wanted}: it needs {count}, in that order."
    return ""
