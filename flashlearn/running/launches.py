"""Launches as plain data, and what one run of an answer leaves for the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from flashlearn.compiler import packing
from flashlearn.compiler.lowering import FrontEndRefusal, Lowering
from flashlearn.interpreter.instrumentation import Instrumentation
from flashlearn.interpreter.specialization import Specialization
from flashlearn.observation import Launch


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
    lowers: Callable[[list[Specialization]], Lowering] = Lowering
    lowering: Lowering | None = None
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


def _constant(value: Any) -> Any:
    """A compile-time constant as data: numbers and text as they are, of all else the name."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is tuple:
        return tuple(map(_constant, value))
    return getattr(value, "__name__", None) or str(value)[:80]
