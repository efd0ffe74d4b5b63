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
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from flashlearn.exercise import Exercise, Inputs, Kind
from flashlearn.interpreter.deadline import Clock, deadline
from flashlearn.interpreter.session import Session
from flashlearn.interpreter.specialization import is_gluon
from flashlearn.interpreter.torch_nan import TorchNanOrigin
from flashlearn.machine import device
from flashlearn.observation import Compiling
from flashlearn.running import answer_source, compiled_run, observed_run, timing, trial_process
from flashlearn.running.answer_source import Section, join, sections
from flashlearn.running.background_compiler import BackgroundCompiler
from flashlearn.running.caller import Caller
from flashlearn.running.crashes import describe_exception, is_user_interrupt, with_duration
from flashlearn.running.evidence import Evidence, Output
from flashlearn.running.fitting import Drawing, Fitting
from flashlearn.running.launcher_cache import LauncherCache
from flashlearn.running.launches import RunCache, dry_run, front_end_refusals
from flashlearn.running.run_modes import (
    Compiled,
    DryRun,
    Edited,
    FrontEndCheck,
    Int32OverflowProbe,
    Observed,
    PlainCall,
    Rewritten,
    RunMode,
    Timed,
    Traced,
)
from flashlearn.running.values import as_tuple, copies, plain

PATIENCE = 10.0
"""Seconds that a check waits after the observed run for background compilation."""


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
    """A function in this process. `exercise` says how to call it, if not with the inputs alone."""

    def __init__(self, function: Callable[..., Any], exercise: Exercise | None = None):
        self.function = function
        self.exercise = exercise
        self.elsewhere = self.taken = 0.0
        self.cache = RunCache()
        self._sections: tuple[Section, ...] | None = None
        self._ahead: BackgroundCompiler | None = None

    @functools.cached_property
    def _same_again(self) -> LauncherCache:
        """Results of the course's launchers, for edited runs only."""
        return LauncherCache()

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
        if isinstance(how, Observed):
            return observed_run.observe(self._caller(how.direct, how.autograd), inputs, how, self.cache)
        if isinstance(how, PlainCall):
            return self._called(inputs, how)
        if isinstance(how, Edited):
            return self._edited(inputs, how)
        if isinstance(how, Rewritten):
            return self._rewritten(inputs, how)
        if isinstance(how, Int32OverflowProbe):
            return observed_run.probe_int32_overflow(self._caller(), inputs, how)
        if isinstance(how, DryRun):
            return dry_run(self._caller(), inputs, how)
        if isinstance(how, Traced):
            return observed_run.trace(Caller(self._spread, self.function), inputs, how)
        if isinstance(how, Compiled):
            return compiled_run.run(self._caller(), inputs, how, self.cache)
        if isinstance(how, FrontEndCheck):
            return Evidence(refusals=front_end_refusals(self.cache, how.wait))
        if isinstance(how, Timed):
            return timing.time_with_peers(self.function, self._caller(), self.exercise, inputs)
        raise TypeError(f"{how!r} is not a run mode")

    def _edited(self, inputs: Inputs, how: Edited) -> Evidence:
        sessions: list[Session] = []
        try:
            with answer_source.rebuilt(
                self.function, self.sections(), dict([(how.section, how.text), *how.more])
            ) as anew:
                file = getattr(getattr(self.function, "__code__", None), "co_filename", "")
                self._same_again.install(inspect.unwrap(anew), file, sessions)
                caller = Here(anew, self.exercise)._caller()
                if how.watched:
                    evidence = observed_run.outputs(caller, inputs, how, sessions)
                else:
                    evidence = observed_run.torch_outputs(caller, inputs, how)
        except BaseException as error:  # the edited text need not be a program at all
            if is_user_interrupt(error):
                raise
            evidence = Evidence(raised=answer_source.edit_failure(error))
        return replace(evidence, accesses=sum(session.work for session in sessions))

    def _rewritten(self, inputs: Inputs, how: Rewritten) -> Evidence:
        lines = {i: section.line for i, section in enumerate(self.sections())}
        texts = {i: "\n" * (lines.get(i, 1) - 1) + text for i, text in how.texts}
        try:
            with answer_source.rebuilt(self.function, self.sections(), texts) as anew:
                return Here(anew, self.exercise)._run(inputs, how.how)
        except BaseException as error:  # the text need not be a program at all
            if is_user_interrupt(error):
                raise
            return Evidence(raised=answer_source.edit_failure(error))

    @contextlib.contextmanager
    def compiling(
        self, draws: Sequence[Inputs], watching: Callable[[Compiling], None] = lambda progress: None
    ) -> Iterator[None]:
        if self._launches_gluon():
            with contextlib.suppress(OSError):
                trial_process.shared().start()  # it will be needed, and takes seconds
        with BackgroundCompiler(self._caller(), draws, device.capability(), watching) as self._ahead:
            try:
                yield
            finally:
                self._ahead = None

    def fitting(self, draws: Sequence[Drawing]) -> Fitting:
        return Fitting(self._caller(), draws)

    @contextlib.contextmanager
    def prepared(self, draws: Sequence[Inputs], limit: float) -> Iterator[None]:
        ready: set[str] = set()
        too_large: dict[str, int] = {}
        complete, gluon = False, self._launches_gluon()
        if self._ahead is not None:
            ready, too_large = self._ahead.ready(min(limit, PATIENCE))
            complete = self._ahead.complete
        with compiled_run.prepared(self._caller(), draws, limit, ready, too_large, complete, gluon):
            yield

    def ready_peers(self, inputs: Inputs) -> None:
        arguments = tuple(timing.on_default_device(inputs).values())
        for peer in self.exercise.timed.contestants.values() if self.exercise is not None else ():
            timing.ready(peer, arguments, needed=False)

    def _launches_gluon(self) -> bool:
        """Whether a run so far has launched a kernel in Gluon."""
        return any(is_gluon(launch.kernel) for launch in self.cache.variants.values())

    def _caller(self, direct: bool = False, autograd: bool | None = None) -> Caller:
        """How the exercise calls its function. Exercises in plain torch run without autograd."""
        exercise = self.exercise
        own = exercise.judged.call if exercise is not None and not direct else None
        if autograd is None and exercise is not None and own is None:
            autograd = exercise.kind is not Kind.TORCH

        def call(given: Inputs) -> Any:
            if own is not None:
                return own(self.function, given)
            with grad_mode(autograd):
                return self.function(*given.values())

        return Caller(call, self.function)

    def _spread(self, given: Any) -> Any:
        positional, named = given
        return self.function(*positional, **named)

    def _called(self, inputs: Inputs, how: PlainCall) -> Evidence:
        kept: list[int] = []
        hooks = saved_tensors_hooks(_keeps(kept), _as_it_is) if how.saved else contextlib.nullcontext()
        nan = TorchNanOrigin(getattr(getattr(self.function, "__code__", None), "co_filename", ""))
        try:
            watched = nan if how.torch_nan else contextlib.nullcontext()
            with grad_mode(how.autograd), hooks, deadline(how.limit), observed_run.no_forks(), watched:
                returned = self.function(*copies(inputs).values())
        except BaseException as error:  # TimeLimit, SystemExit and anything else that a learner may raise
            if is_user_interrupt(error):
                raise
            return Evidence(raised=describe_exception(error, how.limit, self.function), saved=bool(kept))
        value = plain(returned)
        seen = {TorchNanOrigin: nan.observation()} if how.torch_nan else {}
        return Evidence(value, tuple(map(Output, as_tuple(value))), saved=bool(kept), observations=seen)


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


def grad_mode(autograd: bool | str | None) -> AbstractContextManager[Any]:
    """Autograd on or off; "inference" if it cannot be enabled again inside; None leaves it unchanged."""
    if autograd is None:
        return contextlib.nullcontext()
    return torch.inference_mode() if autograd == "inference" else torch.set_grad_enabled(bool(autograd))


def _keeps(kept: list[int]) -> Callable[[torch.Tensor], torch.Tensor]:
    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.numel())
        return tensor

    return keep


def _as_it_is(tensor: torch.Tensor) -> torch.Tensor:
    return tensor
