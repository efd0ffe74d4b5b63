"""Launches as plain data, the launches of a dry run, and what one run of an answer leaves for the next."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from flashlearn.compiler import packing
from flashlearn.compiler.lowering import FrontEndRefusal, Lowering
from flashlearn.compiler.parallel_lowering import ParallelLowering
from flashlearn.exercise import Inputs
from flashlearn.interpreter.dry_run import planned
from flashlearn.interpreter.instrumentation import Instrumentation
from flashlearn.interpreter.specialization import Specialization
from flashlearn.machine import device
from flashlearn.observation import Launch, Observation
from flashlearn.processes.forked import Forked
from flashlearn.running.caller import Caller
from flashlearn.running.evidence import Evidence
from flashlearn.running.guard_zones import ZeroedWatch
from flashlearn.running.run_modes import DryRun

COMPILED_PARTS = ("name", "grid", "signature", "constexprs", "job", "unshippable")
"""What is kept of a launch: enough to compile it."""


@dataclass
class RunCache:
    """What one run of an answer leaves for the next: instrumented code, packed kernels.

    `variants` are the launches that compile to different kernels, in the order in which they were seen, and
    `lowering` is the front end at work on them, made by `lowers`. `returned` holds the memory of what was
    returned, so that it is known when it comes again.
    """

    instrumentation: Instrumentation = field(default_factory=Instrumentation)
    jobs: dict[tuple, tuple[dict[str, Any] | None, str]] = field(default_factory=dict)
    kernels: list[Any] = field(default_factory=list)
    variants: dict[tuple, Specialization] = field(default_factory=dict)
    lowers: Callable[[list[Specialization]], Lowering | ParallelLowering] = ParallelLowering
    lowering: Lowering | ParallelLowering | None = None
    returned: dict[int, torch.UntypedStorage] = field(default_factory=dict)


def plain_launch(launch: Launch, cache: RunCache) -> Launch:
    """A launch without its kernel object: with the job that a compiler needs in place of it."""
    names = tuple(sorted(launch.signature.items()))
    key = (id(launch.kernel), names, repr(launch.constexprs), repr(launch.options), launch.divisible)
    if key not in cache.jobs:
        cache.kernels.append(launch.kernel)  # as long as it is held, no other gets its id
        try:
            cache.jobs[key] = (packing.pack(launch), "")
        except packing.PackingError as error:
            cache.jobs[key] = (None, str(error))
    job, reason = cache.jobs[key]
    variant = -1
    if launch.specialised is not None:
        cache.variants.setdefault(launch.specialised.key, launch.specialised)
        variant = list(cache.variants).index(launch.specialised.key)
    constants = {name: _constant(value) for name, value in launch.constexprs.items()}
    options = {name: _constant(value) for name, value in launch.options.items()}
    return replace(
        launch,
        kernel=None,
        specialised=None,
        job=job,
        unshippable=reason,
        constexprs=constants,
        options=options,
        variant=variant,
    )


def front_end_refusals(cache: RunCache, wait: bool) -> tuple[FrontEndRefusal, ...]:
    """Have triton's front end look at all launches so far; with `wait`, what it refuses of them."""
    if cache.lowering is None:
        cache.lowering = cache.lowers(list(cache.variants.values()))
    if not wait:
        return ()
    lowering, cache.lowering = cache.lowering, None
    with lowering:
        return lowering.refusals()


def dry_run(caller: Caller, inputs: Inputs, how: DryRun) -> Evidence:
    """What a launcher would launch for inputs too large to be drawn, on a GPU that need not be here.

    The observation has no launches where the launcher looks at data or raises. Where there is no GPU it gets
    tensors without data, in a forked process: what it keeps for its next call ends with that process.
    """
    if device.has_gpu():
        with contextlib.suppress(Exception), ZeroedWatch():
            return _launch_evidence(_launch_parts(caller, inputs, how))
        return Evidence()
    with contextlib.suppress(OSError), _ask_fork(caller, inputs, how) as forked:
        for parts in forked.answers(patience=4 * how.limit):
            return _launch_evidence(parts)
    return Evidence()


def _ask_fork(caller: Caller, inputs: Inputs, how: DryRun) -> Forked:
    return Forked(lambda send: send(_launch_parts(caller, inputs, how)), seconds=int(how.limit) + 1)


def _launch_parts(caller: Caller, inputs: Inputs, how: DryRun) -> list[dict[str, Any]]:
    cache = RunCache()
    launches = planned(caller.call, dict(inputs), how.limit, fake=not device.has_gpu())
    plain = [plain_launch(one, cache) for one in launches]
    return [{part: getattr(one, part) for part in COMPILED_PARTS} for one in plain]


def _launch_evidence(parts: list[dict[str, Any]]) -> Evidence:
    launches = [Launch(kernel=None, options={}, **{**one, "grid": tuple(one["grid"])}) for one in parts]
    return Evidence(observation=Observation(launches=launches))


def _constant(value: Any) -> Any:
    """A compile-time constant as data: numbers and text as they are, of all else the name."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is tuple:
        return tuple(map(_constant, value))
    return getattr(value, "__name__", None) or str(value)[:80]
