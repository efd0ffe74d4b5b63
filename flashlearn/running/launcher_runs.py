"""Runs of a launcher, or of a function in torch: observed, compiled, timed, or with another text."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from flashlearn.exercise import Exercise, Inputs, Kind
from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.session import Session
from flashlearn.interpreter.specialization import is_gluon
from flashlearn.interpreter.torch_nan import TorchNanOrigin
from flashlearn.machine import device
from flashlearn.observation import Compiling
from flashlearn.running import answer_source, compiled_run, observed_run, timing, trial_process
from flashlearn.running.answer_source import Section
from flashlearn.running.background_compiler import BackgroundCompiler
from flashlearn.running.caller import Caller
from flashlearn.running.crashes import describe_exception, is_user_interrupt
from flashlearn.running.evidence import Evidence, Output
from flashlearn.running.fitting import Drawing, Fitting
from flashlearn.running.forks import no_forks
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


class LauncherRuns:
    """The runs of one function. `sections()` gives its text, `exercise` says how to call it."""

    def __init__(
        self,
        function: Callable[..., Any],
        exercise: Exercise | None,
        sections: Callable[[], tuple[Section, ...]],
    ):
        self.function = function
        self.exercise = exercise
        self.sections = sections
        self.cache = RunCache()
        self._ahead: BackgroundCompiler | None = None

    @functools.cached_property
    def _same_again(self) -> LauncherCache:
        """Results of the course's launchers, for edited runs only."""
        return LauncherCache()

    def run(self, inputs: Inputs, how: RunMode) -> Evidence:
        """One call in a mode."""
        if isinstance(how, Observed):
            return observed_run.observe(self.caller(how.direct, how.autograd), inputs, how, self.cache)
        if isinstance(how, PlainCall):
            return self._called(inputs, how)
        if isinstance(how, Edited):
            return self._edited(inputs, how)
        if isinstance(how, Rewritten):
            return self._rewritten(inputs, how)
        if isinstance(how, Int32OverflowProbe):
            return observed_run.probe_int32_overflow(self.caller(), inputs, how)
        if isinstance(how, DryRun):
            return dry_run(self.caller(), inputs, how)
        if isinstance(how, Traced):
            return observed_run.trace(Caller(self._spread, self.function), inputs, how)
        if isinstance(how, Compiled):
            return compiled_run.run(self.caller(), inputs, how, self.cache)
        if isinstance(how, FrontEndCheck):
            return Evidence(refusals=front_end_refusals(self.cache, how.wait))
        if isinstance(how, Timed):
            return timing.time_with_peers(self.function, self.caller(), self.exercise, inputs)
        raise TypeError(f"{how!r} is not a run mode")

    def _edited(self, inputs: Inputs, how: Edited) -> Evidence:
        sessions: list[Session] = []
        try:
            with answer_source.rebuilt(
                self.function, self.sections(), dict([(how.section, how.text), *how.more])
            ) as anew:
                file = getattr(getattr(self.function, "__code__", None), "co_filename", "")
                self._same_again.install(inspect.unwrap(anew), file, sessions)
                caller = LauncherRuns(anew, self.exercise, tuple).caller()
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
                return LauncherRuns(anew, self.exercise, tuple).run(inputs, how.how)
        except BaseException as error:  # the text need not be a program at all
            if is_user_interrupt(error):
                raise
            return Evidence(raised=answer_source.edit_failure(error))

    @contextlib.contextmanager
    def compiling(
        self, draws: Sequence[Inputs], watching: Callable[[Compiling], None] = lambda progress: None
    ) -> Iterator[None]:
        """Within the block, what is launched for these inputs is compiled in the background."""
        if self._launches_gluon():
            with contextlib.suppress(OSError):
                trial_process.shared().start()  # it will be needed, and takes seconds
        with BackgroundCompiler(self.caller(), draws, device.capability(), watching) as self._ahead:
            try:
                yield
            finally:
                self._ahead = None

    def fitting(self, draws: Sequence[Drawing]) -> Fitting:
        """Within the block it is found out whether what is launched for these inputs fits every GPU."""
        return Fitting(self.caller(), draws)

    @contextlib.contextmanager
    def prepared(self, draws: Sequence[Inputs], limit: float) -> Iterator[None]:
        """Within the block, compiled runs on these inputs find their kernels compiled."""
        ready: set[str] = set()
        too_large: dict[str, int] = {}
        complete, gluon = False, self._launches_gluon()
        if self._ahead is not None:
            ready, too_large = self._ahead.ready(min(limit, PATIENCE))
            complete = self._ahead.complete
        with compiled_run.prepared(self.caller(), draws, limit, ready, too_large, complete, gluon):
            yield

    def ready_peers(self, inputs: Inputs) -> None:
        """Call what the answer will be timed beside, so that its first call is not timed."""
        arguments = tuple(timing.on_default_device(inputs).values())
        for peer in self.exercise.timed.contestants.values() if self.exercise is not None else ():
            timing.ready(peer, arguments, needed=False)

    def _launches_gluon(self) -> bool:
        """Whether a run so far has launched a kernel in Gluon."""
        return any(is_gluon(launch.kernel) for launch in self.cache.variants.values())

    def caller(self, direct: bool = False, autograd: bool | None = None) -> Caller:
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
            with grad_mode(how.autograd), hooks, deadline(how.limit), no_forks(), watched:
                returned = self.function(*copies(inputs).values())
        except BaseException as error:  # TimeLimit, SystemExit and anything else that a learner may raise
            if is_user_interrupt(error):
                raise
            return Evidence(raised=describe_exception(error, how.limit, self.function), saved=bool(kept))
        value = plain(returned)
        seen = {TorchNanOrigin: nan.observation()} if how.torch_nan else {}
        return Evidence(value, tuple(map(Output, as_tuple(value))), saved=bool(kept), observations=seen)


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
