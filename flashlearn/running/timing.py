"""Calls timed on a GPU, the learner's and its peer's in turns, since a GPU's clock changes as it works."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from flashlearn.exercise import Exercise, Inputs
from flashlearn.machine import device
from flashlearn.running.evidence import Evidence

if TYPE_CHECKING:
    from flashlearn.running.observed import Caller

ROUNDS = 3
SLOW = 100.0
"""A call slower than this, in milliseconds, is timed in one round instead of `ROUNDS`."""


def contest(function: Callable[..., Any], caller: Caller, exercise: Exercise, inputs: Inputs) -> Evidence:
    """Medians in milliseconds and peaks in bytes of the function and, if the exercise has one, of its peer.

    A function that its exercise calls in a way of its own (forward and backward, say) is timed that way.
    """
    inputs = _on_device(inputs)
    asked = (lambda *_: caller.call(inputs)) if exercise.judged.call else function
    contestants = [asked] + ([exercise.timed.peer] if exercise.timed.peer else [])
    peaks = tuple(_peak(each, inputs) for each in contestants)
    return Evidence(milliseconds=tuple(_alternating(contestants, inputs)), peaks=peaks)


def _on_device(inputs: Inputs) -> Inputs:
    where = device.default()
    return {k: v.to(where) if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}


def _alternating(contestants: list[Callable[..., Any]], inputs: Inputs) -> list[float]:
    """The median of each contestant's medians, in milliseconds."""
    times: list[list[float]] = [[] for _ in contestants]
    for _ in range(ROUNDS):
        for mine, each in zip(times, contestants, strict=True):
            mine.append(_median(each, inputs))
        if max(mine[-1] for mine in times) > SLOW:
            break
    return [statistics.median(mine) for mine in times]


def _median(function: Callable[..., Any], inputs: Inputs) -> float:
    """Milliseconds of one call: the median of triton's benchmark, which clears the L2 cache between calls."""
    from triton.testing import do_bench

    arguments = tuple(inputs.values())
    return float(do_bench(lambda: function(*arguments), warmup=10, rep=50, return_mode="median"))


def _peak(function: Callable[..., Any], inputs: Inputs) -> int | None:
    """Bytes that a call holds at its peak beyond what was allocated before it; None without a GPU."""
    if not device.has_gpu():
        return None
    function(*inputs.values())  # compiles, and lets libraries take their workspaces
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    function(*inputs.values())
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before
